cluster "rack" {
  base  = catalog.cluster.dgx_h100
  nodes = 1

  reliability {
    restart = "3m"
  }
}

job "pretrain" {
  model   = catalog.model.llama3_8b
  cluster = cluster.rack

  training {
    global_batch_size = 128
    tokens            = 1e11
    precision         = "bf16"
    seed              = 1

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    schedule "cosine" {
      warmup_steps = 2000
    }
    data {
      format = "jsonl"
      source "web" {
        path = "/data/web.jsonl"
      }
      tokenizer "huggingface" {
        path = "/data/tokenizer"
      }
    }
    checkpoint {
      path     = "/checkpoints/pretrain"
      interval = 500
    }
  }

  backend "deepspeed" {
    version = "0.19.8"
  }

  slurm {
    partition = "h100"
    time      = "24:00:00"
    chain     = "until_done"
  }
}
