ndc {
  required_version = ">= 0.1"
}

variable "nodes" {
  type        = number
  description = "DGX H100 nodes for this run"
  default     = 32

  validation {
    condition     = var.nodes % 2 == 0
    error_message = "Use an even number of nodes: the leaf switches come in pairs."
  }
}

locals {
  tokens = 2e12
}

model "llama3_70b_8k" {
  base            = catalog.model.llama3_70b
  sequence_length = 8192
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = var.nodes
}

job "llama3-70b" {
  model   = model.llama3_70b_8k
  cluster = cluster.h100

  training {
    global_batch_size = 1024
    tokens            = local.tokens
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 1.5e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 2000
      minimum_learning_rate = 1.5e-5
    }

    data {
      format = "megatron"

      source "fineweb" {
        path   = "/data/fineweb/text_document"
        weight = 0.8
      }
      source "code" {
        path   = "/data/stack/text_document"
        weight = 0.2
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path     = "/checkpoints/llama3-70b"
      interval = "30m"
    }
  }

  constraints {
    memory_headroom = "6%"
    objective       = "throughput"

    layout {
      tensor_parallel = [2, 4, 8]
      recompute       = ["none", "selective", "full"]
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.18.sqsh"
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
  }

  slurm {
    account   = "llm"
    partition = "h100"
    time      = "24:00:00"
    chain     = "until_done"

    container {
      mounts = ["/data:/data:ro", "/checkpoints:/checkpoints"]
    }
  }
}
