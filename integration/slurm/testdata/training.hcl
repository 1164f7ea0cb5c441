# A job small enough to train on CPUs: two nodes with two ranks each.

variable "folder" {
  type        = string
  description = "scratch folder of the test"
}

variable "time" {
  type        = string
  description = "limit of a submission"
}

variable "chain" {
  type = string
}

variable "format" {
  type        = string
  description = "format of the data, whose path goes with it"
  default     = "tokens"
}

variable "pipeline_parallel" {
  type    = number
  default = 1
}

variable "zero_stages" {
  type    = list(number)
  default = [3]
}

variable "steps" {
  type    = number
  default = 40
}

variable "nodes" {
  type    = number
  default = 2
}

variable "environment" {
  type        = map(string)
  description = "what a CPU asks for beside the job's own variables"
  default     = {}
}

cluster "rack" {
  base          = catalog.cluster.dgx_h100
  nodes         = var.nodes
  gpus_per_node = 2

  nvlink {
    domain = 2
  }
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

job "training" {
  model   = model.small
  cluster = cluster.rack

  training {
    global_batch_size = 8
    steps             = var.steps
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
      warmup_steps          = var.steps > 2 ? 2 : 0
      minimum_learning_rate = 3e-4
    }
    data {
      format = var.format
      source "counting" {
        path = "${var.folder}/${var.format == "megatron" ? "counting" : "counting.bin"}"
      }
      tokenizer "none" {
      }
    }
    checkpoint {
      path     = "${var.folder}/checkpoints"
      interval = 10
    }
    logging {
      interval = 1
    }
  }

  constraints {
    layout {
      pipeline_parallel   = var.pipeline_parallel
      data_parallel_shard = 2 * var.nodes / var.pipeline_parallel
      zero_stage          = var.zero_stages
    }
  }

  backend "deepspeed" {
    version    = "0.19.8"
    extra_args = ["optimizer.params.torch_adam=true"] # the fused one would be compiled first
  }

  backend "megatron" {
    version = "core_v0.19.2"
  }

  backend "torchtitan" {
    version = "0.3.0"
    execution {
      compile = false
    }
  }

  slurm {
    partition     = "patient"
    time          = var.time
    chain         = var.chain
    cpus_per_task = 4
    environment   = var.environment
    setup         = ["export PATH='${var.folder}/bin':\"$PATH\""]
  }
}
