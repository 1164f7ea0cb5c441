# A job small enough to train on a few CPU cores. The conformance tests set the
# variables and add the layout of each case.

variable "data" {
  type = string
}

variable "checkpoints" {
  type = string
}

variable "gpus" {
  type    = number
  default = 2
}

variable "nodes" {
  type    = number
  default = 1
}

variable "version" {
  type = string
}

cluster "local" {
  base          = catalog.cluster.dgx_h100
  nodes         = var.nodes
  gpus_per_node = var.gpus
}

model "small" {
  architecture    = "llama"
  layers          = 4
  hidden_size     = 64
  ffn_hidden_size = 176
  attention_heads = 4
  kv_heads        = 2
  head_dim        = 16
  vocab_size      = 512
  sequence_length = 128
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  tied_embeddings = false
  dropout         = 0

  position_embedding "rope" {
    theta = 500000
  }
}

job "small" {
  model   = model.small
  cluster = cluster.local

  training {
    global_batch_size = 16
    steps             = 6
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 3e-3
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }
    schedule "cosine" {
      warmup_steps          = 2
      minimum_learning_rate = 3e-4
    }
    data {
      format = "megatron"
      source "text" {
        path   = "${var.data}/text_document"
        weight = 0.75
      }
      source "code" {
        path   = "${var.data}/code_document"
        weight = 0.25
      }
      tokenizer "none" {}
    }
    checkpoint {
      path     = var.checkpoints
      interval = 3
    }
    logging {
      interval = 1
    }
  }
  constraints {
    layout {
      # LAYOUT
    }
  }
  backend "torchtitan" {
    version = var.version
    execution {
      compile = false
    }
  }
  slurm {}
}
