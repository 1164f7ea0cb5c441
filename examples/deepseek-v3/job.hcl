# DeepSeek-V3 on 2,048 H800, as its report (arXiv:2412.19437) trained it, with
# the schedules that Megatron has in place of DualPipe. Blocks of numbers below
# name the section they come from.

ndc {
  required_version = ">= 0.1"
}

# Section 3.1: NVLink inside a node, one 400 Gb/s adapter beside each GPU.
cluster "h800" {
  base  = catalog.cluster.h800_ib
  nodes = 256
}

job "deepseek-v3" {
  model   = catalog.model.deepseek_v3
  cluster = cluster.h800

  # Section 4.2. The last 500B of 14.8T tokens have constant rates and no bias
  # updates: a run of their own.
  training {
    global_batch_size = 15360 # 60 Mi tokens
    tokens            = 14.3e12
    precision         = "fp8"
    seed              = 1234

    fp8 {
      recipe = "blockwise" # section 3.3: tiles of 1 × 128, blocks of 128 × 128
    }

    # From 3,072 to 15,360 sequences over the first 469B tokens.
    batch_ramp {
      start     = 3072
      increment = 3072
      sequences = floor(469e9 / 4096)
    }

    optimizer "adamw" {
      learning_rate     = 2.2e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    # Constant to 10T tokens, then a cosine over 4.3T.
    schedule "wsd" {
      warmup_steps          = 2000
      decay_tokens          = 4.3e12
      decay_shape           = "cosine"
      minimum_learning_rate = 2.2e-5
    }

    data {
      format     = "megatron"
      workers    = 8
      cache_path = "/data/index-cache"

      source "general" {
        path   = "/data/general/text_document"
        weight = 0.7
      }
      source "mathematics_and_code" {
        path   = "/data/mathematics-and-code/text_document"
        weight = 0.3
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/deepseek-v3"
      }
    }

    checkpoint {
      path     = "/checkpoints/deepseek-v3"
      interval = 160 # an hour
      async    = true
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/deepseek-v3"
    }
  }

  # Section 3.2: no tensor parallelism, experts over eight nodes.
  constraints {
    layout {
      tensor_parallel   = 1
      context_parallel  = 1
      pipeline_parallel = [8, 16]
      expert_parallel   = [16, 32, 64]
    }
  }

  # Section 3.2.2: kernels of its own for dispatch and combine.
  execution {
    moe_dispatcher = "deepep"
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.19.sqsh"
    }

    # Kept are the newest checkpoint and one a day.
    extra_args = ["--save-retain-interval", "4000"]
  }

  slurm {
    account   = "flagship"
    partition = "h800"
    time      = "3-00:00:00"
    chain     = "until_done"
    exclude   = "node[0017,0233]"

    node_check {
      command = "/opt/checks/node.sh"
      timeout = "5m"
    }

    container {
      mounts = ["/data:/data", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
