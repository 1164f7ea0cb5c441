cluster "a" {
  base          = catalog.cluster.dgx_h100
  nodes         = 4
  gpus_per_node = 12 # ERROR: inconsistent-cluster at 12: NVLink domains of 8 GPUs and nodes of 12 do not fit: one must be a multiple of the other.

  network {
    oversubscription = 2 # ERROR: inconsistent-cluster at 2: An oversubscription of 2 needs gpus_per_pod, the number of GPUs that it begins beyond.
    gpus_per_pod     = 0
    congestion       = "100%" # ERROR: out-of-range at "100%": A congestion of 100% would leave nothing of the network to a group of four nodes.
  }
}

cluster "b" { # ERROR: missing-block at "b": 2 nodes need a network block: what connects them, with how many adapters of which bandwidth.
  base    = catalog.cluster.dgx_h100
  nodes   = 2
  without = ["network"]
}

cluster "c" {
  base    = catalog.cluster.dgx_h100
  nodes   = 2
  without = ["pcie"]

  network {
    gpus_per_pod = 12 # ERROR: inconsistent-cluster at 12: Pods of 12 GPUs cannot be made of nodes of 8.
  }
}

job "a" {
  model   = catalog.model.debug
  cluster = cluster.a

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }

  slurm {
    segment = 8 # ERROR: inconsistent-cluster at 8: Segments of 8 nodes are larger than the job's 4 nodes.
    chain   = 4 # ERROR: missing-block at 4: Each submission of a chain goes on from the last one's checkpoint, and nothing is saved. Add a checkpoint block to training.

    container {
      mounts  = ["/data"] # ERROR: missing-argument at ["/data"]: "mounts" is for a container, and no image is set, here or in a backend's own container block. # ERROR: invalid-value at "/data": "/data" is not SRC:DST or SRC:DST:OPTIONS.
      workdir = "/x" # ERROR: missing-argument at "/x": "workdir" is for a container, and no image is set, here or in a backend's own container block.
    }
  }
}

job "b" {
  model   = catalog.model.debug
  cluster = cluster.b

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "c" {
  model   = catalog.model.debug
  cluster = cluster.c

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  execution {
    offload {
      optimizer = true # ERROR: missing-block at true: Offloading takes as long as the link to the host does, and the cluster has no pcie block. Add pcie { bandwidth } to it.
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "d" {
  model   = catalog.model.debug
  cluster = catalog.cluster.dgx_h100 # ERROR: missing-argument at catalog.cluster.dgx_h100: The block cluster needs the argument "nodes". Nodes of this run. The catalogue leaves it to you: write a block cluster "NAME" { … } with base = catalog.cluster.dgx_h100 and nodes = ….

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

cluster "e" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 32
}

job "e" {
  model   = catalog.model.debug
  cluster = cluster.e

  training {
    global_batch_size = 128
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    segment     = 16
    spare_nodes = 3 # ERROR: inconsistent-cluster at 3: Spare nodes are counted for each segment: 16 nodes and 3 to spare do not lie in one NVLink domain of 72 GPUs, which is 18 nodes.
  }
}

job "f" {
  model   = catalog.model.debug
  cluster = cluster.e

  training {
    global_batch_size = 128
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    nodelist    = "n[1-2],n[2-40]" # ERROR: inconsistent-cluster at "n[1-2],n[2-40]": "n[1-2],n[2-40]" names 40 nodes, and sbatch is asked for 32 nodes, so that it refuses the job. Name no more, or give the cluster as many.
    check_speed = true             # ERROR: missing-argument at true: A node that is slow can only be left out where there is another. Set spare_nodes, too.
  }
}

job "g" {
  model   = catalog.model.debug
  cluster = cluster.e
  nodes   = 24

  training {
    global_batch_size = 96
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    segment     = 8
    spare_nodes = 4 # ERROR: inconsistent-cluster at 4: The cluster e has 32 nodes, and sbatch is asked for 36: 24 and 12 to spare. Raise the cluster's nodes, or ask for fewer.
  }
}
