# Qwen3 30B-A3B on one node of H200: 128 small experts, eight of them per token.
# 1.1 TB of GPU memory holds the whole training state on a single node.

ndc {
  required_version = ">= 0.1"
}

cluster "node" {
  base  = catalog.cluster.dgx_h200
  nodes = 1
}

job "qwen3-30b-a3b" {
  model   = catalog.model.qwen3_30b_a3b
  cluster = cluster.node

  training {
    global_batch_size = 512 # 2 Mi tokens
    tokens            = 20e9
    precision         = "bf16"
    seed              = 7

    optimizer "adamw" {
      learning_rate     = 3e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_tokens         = 1e9
      minimum_learning_rate = 3e-5
    }

    data {
      format  = "megatron"
      workers = 4

      source "web" {
        path   = "/data/web/qwen3_text_document"
        weight = 0.7
      }
      source "mathematics" {
        path   = "/data/mathematics/qwen3_text_document"
        weight = 0.3
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/qwen3"
      }
    }

    checkpoint {
      path     = "/checkpoints/qwen3-30b-a3b"
      interval = 500
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/qwen3-30b-a3b"
    }
  }

  # Eight GPUs on one switch: experts over all of them, and no pipeline.
  constraints {
    layout {
      pipeline_parallel = 1
      context_parallel  = 1
      expert_parallel   = [4, 8]
    }
  }

  backend "megatron" {
    version = "core_v0.19.0"
    path    = "/opt/megatron-lm"
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
  backend "deepspeed" {
    version = "0.19.8"
  }

  # Bare metal: the environment is a virtual environment on a shared disk.
  slurm {
    account   = "research"
    partition = "h200"
    time      = "08:00:00"
    chain     = 11
    setup     = ["source /opt/venvs/train/bin/activate"]
  }
}
