# Llama 3.1 405B on 16,384 H100, as its report (arXiv:2407.21783) describes the
# main stage: 16 Mi tokens a step over a RoCE fabric of eight pods with 1:7
# oversubscription between them.

ndc {
  required_version = ">= 0.1"
}

variable "nodes" {
  type        = number
  description = "Nodes of eight H100"
  default     = 2048

  validation {
    condition     = var.nodes % 16 == 0
    error_message = "A pipeline of 16 stages with a tensor group per node takes 16 nodes."
  }
}

# Section 3.3.1: 24K GPUs on 400 Gb/s RoCE, 3,072 GPUs to a pod.
cluster "roce" {
  base  = catalog.cluster.dgx_h100
  nodes = var.nodes

  network {
    kind             = "roce"
    gpus_per_pod     = 3072
    oversubscription = 7
  }
}

job "llama3-405b" {
  model   = catalog.model.llama3_1_405b
  cluster = cluster.roce

  # Section 3.4.1, Table 4. The smaller batches before 2.87T tokens are runs of
  # their own: on this many GPUs they could not fill the pipeline.
  training {
    global_batch_size = 2048 # 16 Mi tokens
    tokens            = 15.6e12
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 8e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 8000
      minimum_learning_rate = 8e-7
    }

    data {
      format     = "megatron"
      workers    = 4
      cache_path = "/data/index-cache"

      source "web" {
        path   = "/data/web/text_document"
        weight = 0.5
      }
      source "reasoning" {
        path   = "/data/reasoning/text_document"
        weight = 0.25
      }
      source "code" {
        path   = "/data/code/text_document"
        weight = 0.17
      }
      source "multilingual" {
        path   = "/data/multilingual/text_document"
        weight = 0.08
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path     = "/checkpoints/llama3-405b"
      interval = 150 # 17 minutes; "auto" would say 19
      async    = true
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/llama3-405b"
    }
  }

  constraints {
    layout {
      tensor_parallel   = 8
      pipeline_parallel = [8, 16]
      context_parallel  = 1
    }
  }

  backend "megatron" {
    version = "core_v0.18.0"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.18.sqsh"
    }

    # Kept are the newest checkpoint and one a day.
    extra_args = ["--save-retain-interval", "12000"]
  }

  slurm {
    account     = "flagship"
    reservation = "flagship"
    partition   = "h100"
    time        = "7-00:00:00"
    chain       = "until_done"
    requeue     = true

    node_check {
      command = "/opt/checks/node.sh"
      timeout = "5m"
    }

    container {
      mounts = ["/data:/data", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
