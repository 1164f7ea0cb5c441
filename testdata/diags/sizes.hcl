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
  slurm {}
}

cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}
