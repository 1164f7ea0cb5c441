model "m" {
  base = catalog.model.llama3_8b
}

cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "j" {
  model   = model.m
  cluster = cluster.c

  training {
    global_batch_size = 64
    steps             = 1000

    optimizer "adamw" {
      learning_rate = 1e-4
    }

    data {
      format = "megatron"

      source "text" {
        path = "/data/text_document"
      }

      tokenizer "none" {}
    }

    logging {
      profile {
        start_step = 10
        end_step   = 12
        ranks      = [0, 8, 0] # ERROR: inconsistent-training at [0, 8, 0]: Rank 0 is named twice. # ERROR: inconsistent-training at [0, 8, 0]: There is no rank 8 to trace: the job has 8 ranks, which count from 0.
      }
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }
}
