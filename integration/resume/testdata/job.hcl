# A job small enough to train on a few CPU cores: the test adds the model, the
# layout and the backend.

variable "data" {
  type = string
}

variable "checkpoints" {
  type = string
}

variable "gpus" {
  type = number
}

variable "version" {
  type = string
}

variable "precision" {
  type = string
}

cluster "local" {
  base          = catalog.cluster.dgx_h100
  nodes         = 1
  gpus_per_node = var.gpus
}

job "small" {
  model   = model.small
  cluster = cluster.local

  training {
    global_batch_size = 8
    steps             = 13
    precision         = var.precision
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
      format  = "megatron"
      workers = 0
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
  # BACKEND
  slurm {}
}
