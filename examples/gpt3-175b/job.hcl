# GPT-3 175B on 1,024 A100, the yardstick of large-model training: the learned
# positions, LayerNorm and GELU of 2020, with dropout.

ndc {
  required_version = ">= 0.1"
}

cluster "a100" {
  base  = catalog.cluster.dgx_a100
  nodes = 128
}

job "gpt3-175b" {
  model   = catalog.model.gpt3_175b
  cluster = cluster.a100

  # Brown et al. 2020, arXiv:2005.14165, section 2 and appendix B.
  training {
    global_batch_size = 1536 # 3 Mi tokens
    tokens            = 300e9
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 6e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_tokens         = 375e6
      decay_tokens          = 260e9
      minimum_learning_rate = 6e-6
    }

    data {
      format  = "megatron"
      split   = "949,50,1"
      workers = 2

      source "pile" {
        path = "/data/pile/text_document"
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/gpt2"
      }
    }

    checkpoint {
      path     = "/checkpoints/gpt3-175b"
      interval = 200
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/gpt3-175b"
    }
  }

  constraints {
    max_training_time = "60d"

    layout {
      tensor_parallel   = 8
      context_parallel  = 1
      pipeline_parallel = { min = 4, max = 16 }
      micro_batch_size  = [1, 2]
    }
  }

  backend "megatron" {
    version = "core_v0.15.3"
    path    = "/opt/megatron-lm"

    # Kept are the newest checkpoint and two a day.
    extra_args = ["--save-retain-interval", "2600"]

    # Mellanox HDR: one adapter beside each GPU, the others are for storage.
    environment = {
      NCCL_IB_HCA = "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9"
    }
  }

  slurm {
    account       = "llm"
    partition     = "a100"
    time          = "2-00:00:00"
    chain         = "until_done"
    cpus_per_task = 128
    exclusive     = true
    modules       = ["cuda/12.8", "nccl/2.26"]
    setup         = ["source /opt/venvs/megatron/bin/activate"]
  }
}
