# DeepSeek-V3 on 256 GPUs of GB200 NVL72 in mxfp8. A rack is one NVLink domain
# of 72 GPUs; an expert group of 64 takes 16 trays of it, so Slurm is asked for
# segments of 16 nodes that lie in one rack each.

ndc {
  required_version = ">= 0.1"
}

locals {
  segment          = 16 # nodes of one rack
  expert_parallel  = local.segment * catalog.cluster.gb200_nvl72.gpus_per_node
  racks            = 4
  sequences_a_step = 4096 # 16 Mi tokens
}

cluster "nvl72" {
  base  = catalog.cluster.gb200_nvl72
  nodes = local.racks * local.segment
}

job "deepseek-v3-gb200" {
  model   = catalog.model.deepseek_v3
  cluster = cluster.nvl72

  training {
    global_batch_size = local.sequences_a_step
    tokens            = 1e12
    precision         = "mxfp8"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 2.2e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 2000
      minimum_learning_rate = 2.2e-5
    }

    data {
      format  = "megatron"
      split   = "100,0,0"
      workers = 8

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
      path     = "/checkpoints/deepseek-v3-gb200"
      interval = 120 # half an hour
      async    = true
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/deepseek-v3-gb200"

      profile {
        start_step = 50
        end_step   = 53
      }
    }
  }

  constraints {
    nvlink_only = ["tensor_parallel", "expert_parallel"]

    layout {
      tensor_parallel   = 1
      context_parallel  = 1
      pipeline_parallel = [4, 8]
      micro_batch_size  = 1
      expert_parallel   = [32, local.expert_parallel]
    }
  }

  # Over the NVLink of a whole rack.
  execution {
    moe_dispatcher = "hybridep"
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.19-arm64.sqsh"
    }

    # Kept are the newest checkpoint and one a day.
    extra_args = ["--save-retain-interval", "6000"]
  }

  slurm {
    account        = "flagship"
    partition      = "gb200"
    time           = "24:00:00"
    chain          = "until_done"
    segment        = local.segment
    gpus_directive = "gpus_per_node"

    container {
      mounts = ["/data:/data", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
