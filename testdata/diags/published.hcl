model "fresh" {
  base     = catalog.model.deepseek_v3
  init_std = 0.02 # WARNING: untrained-value at 0.02: init_std = 0.02 is in the published configuration, and no recipe is known to train with it. The catalogue's value is from DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; NVIDIA-NeMo/Megatron-Bridge recipes/deepseek/h100/deepseek_v3.py @067f987 agrees; the hub config.json has the class default of 0.02.

  moe {
    router {
      aux_coefficient = 0.9 # WARNING: untrained-value at 0.9: aux_coefficient = 0.9: the loss is added for every layer with experts. Published recipes have 0.0001 to 0.02.
    }
  }
}

model "biased" {
  base           = catalog.model.qwen2_5_7b
  attention_bias = true
  qkv_bias       = true # ERROR: inapplicable-argument at true: "qkv_bias" has no effect. attention_bias puts biases on query, key, value and output. Remove it.
}

model "latent" {
  base     = catalog.model.deepseek_v3
  qkv_bias = true # ERROR: inconsistent-model at true: Latent attention (mla) has low-rank projections in place of query, key and value, and ndc knows them without biases only. Set qkv_bias = false.
}

job "a" {
  model   = model.fresh
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}

job "b" {
  model   = model.biased
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}

job "c" {
  model   = model.latent
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
