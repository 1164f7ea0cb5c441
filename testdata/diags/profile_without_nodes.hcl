cluster "c" { # ERROR: missing-argument at cluster "c": The block cluster needs the argument "nodes". Nodes of this run.
  gpu           = catalog.gpu.h100_sxm
  gpus_per_node = 8
}

job "j" {
  model   = catalog.model.llama3_8b
  cluster = cluster.c

  training {
    global_batch_size = 64
    steps             = 1000

    optimizer "adamw" {
      learning_rate = 1e-4
    }

    data {
      mock = true
    }

    logging {
      profile {
        start_step = 10
        end_step   = 12
        ranks      = [0]
      }
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }
}
