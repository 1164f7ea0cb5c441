job "j" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  nodes   = [1, 2, 8] # WARNING: sizes-beyond at [1, 2, 8]: The cluster c has 4 nodes, and sizes up to 8 are asked for: those beyond are left out. Raise the cluster's nodes to see them.

  training {
    global_batch_size = 64
    steps             = 100

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {}
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  slurm {
    nodelist = "n[1-2]" # WARNING: sizes-below at "n[1-2]": "n[1-2]" names 2 nodes, and sbatch refuses a job that asks for fewer: sizes below 2, which are allowed here, are left out.
  }
}

job "k" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  nodes   = { not = 3 } # no end is named, so nothing is left out

  training {
    global_batch_size = 64
    steps             = 100

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {}
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  slurm {}
}

job "l" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  nodes   = { min = 2, max = 100, step = 2 } # WARNING: sizes-beyond at { min = 2, max = 100, step = 2 }: The cluster c has 4 nodes, and sizes up to 100 are asked for: those beyond are left out. Raise the cluster's nodes to see them.

  training {
    global_batch_size = 64
    steps             = 100

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {}
    data {
      mock = true
    }
  }
  constraints {
    prefer = ["offload", "tensor_parallel"]
    avoid  = ["offload"] # ERROR: inapplicable-argument at ["offload"]: "offload" is in prefer, too, so that neither has an effect. Remove it from one of them.
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  slurm {}
}

job "m" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  nodes   = [1, 2, 4]

  training {
    global_batch_size = 64
    steps             = 100

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {}
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  slurm {
    spare_nodes = 1 # WARNING: sizes-beyond at 1: The cluster c has 4 nodes, which the spare ones are part of: sizes beyond 2, which are allowed here, are left out. Raise the cluster's nodes to see them.
  }
}

job "n" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c
  nodes   = [1, 2, 4]

  training {
    global_batch_size = 64
    steps             = 100

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {}
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  slurm {
    segment = 2 # WARNING: sizes-uncut at 2: Slurm places a job in whole segments: sizes that are no multiple of 2, which are allowed here, are left out.
  }
}

job "o" {
  base = job.n

  slurm {
    segment = 3 # ERROR: inconsistent-cluster at 3: Slurm places a job in whole segments, and no size of the run that is allowed here is a multiple of 3.
  }
}

job "p" {
  base = job.n

  slurm {
    segment = 5 # ERROR: inconsistent-cluster at 5: Segments of 5 nodes are larger than the job's 4 nodes.
  }
}

cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}
