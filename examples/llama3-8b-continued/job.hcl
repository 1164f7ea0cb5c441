# Continued pre-training of Llama 3.1 8B from the published weights: a blend of
# three corpora by weight, and a warm-up, stable, decay schedule whose decay can
# be branched off at any time.

ndc {
  required_version = ">= 0.1"
}

variable "weights" {
  type        = string
  description = "Folder of the published checkpoint in Hugging Face's format"
  default     = "/models/Llama-3.1-8B"
}

locals {
  tokens = 50e9
  batch  = 512

  # Shares of the blend; ndc normalises them.
  corpora = {
    legal   = 5
    medical = 3
    general = 2 # replay, against forgetting
  }
}

model "llama3_1_8b" {
  base            = catalog.model.llama3_1_8b
  sequence_length = 8192
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}

job "llama3-8b-continued" {
  model   = model.llama3_1_8b
  cluster = cluster.h100

  training {
    global_batch_size = local.batch
    tokens            = local.tokens
    precision         = "bf16"
    seed              = 42

    start {
      from = "huggingface"
      path = var.weights
    }

    optimizer "adamw" {
      learning_rate     = 2e-5 # a tenth of the original peak
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "wsd" {
      warmup_steps          = 200
      decay_tokens          = local.tokens / 10
      decay_shape           = "linear"
      minimum_learning_rate = 0
    }

    data {
      format  = "jsonl"
      workers = 8

      source "legal" {
        path   = "/data/legal/train.jsonl"
        weight = local.corpora.legal
      }
      source "medical" {
        path   = "/data/medical/train.jsonl"
        weight = local.corpora.medical
      }
      source "general" {
        path   = "/data/fineweb/sample.jsonl"
        weight = local.corpora.general
      }
      tokenizer "huggingface" {
        path = var.weights
      }
    }

    checkpoint {
      path      = "/checkpoints/llama3-8b-continued"
      interval  = "1h"
      keep_last = 4
      async     = true
    }

    logging {
      interval = 10

      wandb {
        project = "continued-pretraining"
        mode    = "offline" # compute nodes have no way out
      }
    }
  }

  backend "torchtitan" {
    version = "0.3.0"

    container {
      image = "/images/torchtitan-0.3.sqsh"
    }
  }
  backend "deepspeed" {
    version = "0.19.8"

    container {
      image = "/images/deepspeed-0.19.sqsh"
    }

    # No asynchronous checkpoints here.
    training {
      checkpoint {
        async = false
      }
    }
  }

  slurm {
    account   = "domain"
    partition = "h100"
    qos       = "normal"
    time      = "12:00:00"
    chain     = "until_done"
    log_path  = "/logs/llama3-8b-continued"

    container {
      mounts = ["/data:/data:ro", "/models:/models:ro", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
