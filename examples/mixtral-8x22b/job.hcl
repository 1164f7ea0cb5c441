# Mixtral 8x22B from scratch on 128 H100. Eight experts of 300M parameters a
# layer: experts are spread over GPUs of a node, so that the exchange of tokens
# stays on NVLink.

ndc {
  required_version = ">= 0.1"
}

model "mixtral_8x22b" {
  base            = catalog.model.mixtral_8x22b
  sequence_length = 4096
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = 16
}

job "mixtral-8x22b" {
  model   = model.mixtral_8x22b
  cluster = cluster.h100

  training {
    global_batch_size = 1024 # 4 Mi tokens
    tokens            = 1e12
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 1e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 1000
      minimum_learning_rate = 1e-5
    }

    data {
      format  = "megatron"
      split   = "99,1,0"
      workers = 4

      source "fineweb" {
        path   = "/data/fineweb/mixtral_text_document"
        weight = 0.85
      }
      source "code" {
        path   = "/data/stack/mixtral_text_document"
        weight = 0.15
      }
      tokenizer "sentencepiece" {
        path = "/data/tokenizers/mixtral/tokenizer.model"
      }
    }

    checkpoint {
      path     = "/checkpoints/mixtral-8x22b"
      interval = 110 # half an hour
      async    = true
    }

    logging {
      interval = 10

      wandb {
        project = "mixtral"
        entity  = "llm-team"
        mode    = "online"
      }
    }
  }

  constraints {
    memory_headroom = "5%"
    nvlink_only     = ["tensor_parallel", "expert_parallel"]

    layout {
      tensor_parallel   = [1, 2, 4]
      context_parallel  = 1
      expert_parallel   = [4, 8]
      pipeline_parallel = [4, 8]
      micro_batch_size  = [1, 2]
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.18.sqsh"
    }

    # Kept are the newest checkpoint and one a day.
    extra_args = ["--save-retain-interval", "5500"]
  }

  slurm {
    account   = "llm"
    partition = "h100"
    time      = "24:00:00"
    chain     = "until_done"
    env_file  = "/home/llm/wandb.env" # WANDB_API_KEY stays on the cluster

    container {
      mounts = ["/data:/data:ro", "/checkpoints:/checkpoints"]
    }
  }
}
