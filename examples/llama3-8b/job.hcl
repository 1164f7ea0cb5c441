# Llama 3 8B on one DGX H100: a first run on a node of one's own. The same spec
# feeds three frameworks, so that they can be compared before a larger run.

ndc {
  required_version = ">= 0.1"
}

locals {
  tokens = 100e9 # two weeks on eight GPUs
}

cluster "node" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "llama3-8b" {
  model   = catalog.model.llama3_8b
  cluster = cluster.node

  training {
    global_batch_size = 128 # 1 Mi tokens
    tokens            = local.tokens
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 3e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 2000
      minimum_learning_rate = 3e-5
    }

    # Megatron-LM's format serves all three: the programs that ndc emits for the
    # others read it too.
    data {
      format  = "megatron"
      workers = 4

      source "fineweb_edu" {
        path = "/data/fineweb-edu/text_document"
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path     = "/checkpoints/llama3-8b"
      interval = 1000
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/llama3-8b"
    }
  }

  backend "megatron" {
    version = "core_v0.17.1"
    path    = "/opt/megatron-lm"

    container {
      image = "/images/megatron-core-0.17.sqsh"
    }
  }
  backend "torchtitan" {
    version = "0.3.0"

    container {
      image = "/images/torchtitan-0.3.sqsh"
    }

    # Megatron-LM keeps all checkpoints or one.
    training {
      checkpoint {
        keep_last = 3
      }
    }
  }
  backend "deepspeed" {
    version = "0.18.2"

    container {
      image = "/images/deepspeed-0.18.sqsh"
    }

    training {
      checkpoint {
        keep_last = 3
      }
    }
  }

  slurm {
    account   = "llm"
    partition = "h100"
    time      = "1-00:00:00"
    chain     = "until_done"

    container {
      mounts = ["/data:/data:ro", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
