# The long-context stage of Llama 3.1 8B: sequences of 131,072 tokens from a
# checkpoint of the 8,192-token stage. One sequence no longer fits on one GPU,
# so it is split over several (context parallelism).

ndc {
  required_version = ">= 0.1"
}

locals {
  sequence_length = 131072
}

model "llama3_1_8b_128k" {
  base            = catalog.model.llama3_1_8b
  sequence_length = local.sequence_length
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = 16
}

job "llama3-long" {
  model   = model.llama3_1_8b_128k
  cluster = cluster.h100

  training {
    global_batch_size = 32 # 4 Mi tokens
    steps             = 5000
    precision         = "bf16"
    seed              = 1234

    # Only the weights go on; moments, schedule and data are new.
    start {
      from            = "checkpoint"
      path            = "/checkpoints/llama3-8b-8k/megatron"
      reset_optimizer = true
      reset_schedule  = true
      reset_data      = true
    }

    optimizer "adamw" {
      learning_rate     = 3e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "linear" {
      warmup_steps          = 100
      minimum_learning_rate = 3e-6
    }

    data {
      format  = "megatron"
      workers = 2

      source "books" {
        path   = "/data/books/text_document"
        weight = 0.5
      }
      source "repositories" {
        path   = "/data/repositories/text_document"
        weight = 0.3
      }
      source "web" {
        path   = "/data/fineweb/text_document"
        weight = 0.2
      }
      validation {
        path     = "/data/books-validation/text_document"
        interval = 500
        steps    = 8
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path     = "/checkpoints/llama3-long"
      interval = 250
    }

    logging {
      interval         = 1
      tensorboard_path = "/logs/llama3-long"
    }
  }

  constraints {
    layout {
      context_parallel = [4, 8, 16]
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.19.sqsh"
    }
  }

  slurm {
    account   = "llm"
    partition = "h100"
    time      = "24:00:00"
    chain     = "until_done"

    container {
      mounts = ["/data:/data:ro", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
