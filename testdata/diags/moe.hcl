model "a" {
  base = catalog.model.mixtral_8x7b

  moe {
    top_k                         = 9 # ERROR: inconsistent-model at 9: A token cannot go to 9 of 8 experts; top_k is at most experts.
    first_dense_layers            = 32 # ERROR: inconsistent-model at 32: 32 dense layers leave none of the model's 32 layers to the experts. For a dense model, leave the moe block out, or drop the base's with without = ["moe"].
    capacity_factor               = 1.5 # ERROR: inapplicable-argument at 1.5: "capacity_factor" has no effect. No token is dropped, so there is no capacity; token_drop = true would drop some. Remove it.
    shared_expert_ffn_hidden_size = 64 # ERROR: inapplicable-argument at 64: "shared_expert_ffn_hidden_size" has no effect. shared_experts is 0. Remove it.

    router {
      balance          = "none"
      group_top_k      = 2
      normalize        = false # ERROR: inapplicable-argument at false: "normalize" has no effect. A softmax over the chosen experts sums to one in any case; with pre_softmax = true it is over all of them. Remove it.
      bias_update_rate = 0.1 # ERROR: inapplicable-argument at 0.1: "bias_update_rate" has no effect. It belongs to balance = "bias", and balance is "none". Remove it.
      groups           = 3 # ERROR: inconsistent-model at 3: 8 experts cannot form 3 equal groups.
    }
  }
}

model "b" {
  base = catalog.model.deepseek_v3

  moe {
    router {
      group_top_k = 9 # ERROR: inconsistent-model at 9: With 8 groups, group_top_k must be from 1 to 8, not 9.
    }
  }
}

model "c" {
  base     = catalog.model.deepseek_v3
  kv_heads = 16 # ERROR: inapplicable-argument at 16: "kv_heads" has no effect. With mla, every head has keys and values of its own, made of one latent, so that kv_heads can only be attention_heads, 128. Remove it.
  head_dim = 128 # ERROR: inconsistent-model at 128: With mla, head_dim is qk_nope_head_dim + qk_rope_head_dim = 128 + 64 = 192, not 128. Leave it out.

  moe {
    top_k = 100

    router {
      group_top_k = 1 # ERROR: inconsistent-model at 1: 1 group of 32 experts: 32 in all, fewer than the 100 of top_k.
    }
  }
  position_embedding "rope" {
    scaling {
      original_length = null
    }
  }
}

model "d" { # ERROR: inconsistent-model at "d": Rotary positions turn pairs of dimensions, so head_dim must be even, not 33. # ERROR: missing-argument at "d": The block model needs the argument "ffn_hidden_size", the width of the dense MLP's inner layer. Some layers are dense: moe.first_dense_layers or moe.layer_frequency says so.
  architecture    = "mixtral"
  layers          = 4
  hidden_size     = 100
  attention_heads = 3 # ERROR: inconsistent-model at 3: hidden_size 100 does not divide by 3 attention heads, so the width of a head is unclear. Set head_dim.
  vocab_size      = 100
  sequence_length = 100

  position_embedding "rope" {
    scaling { # ERROR: missing-argument at scaling: Scaling of type "yarn" needs "original_length", the positions that the model had before.
      type   = "yarn"
      factor = 4
    }
  }
  moe {
    experts                = 4
    top_k                  = 2
    expert_ffn_hidden_size = 100
    layer_frequency        = 2
  }
}

job "a" {
  model   = model.a
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "b" {
  model   = model.b
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "c" {
  model   = model.c
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "d" {
  model   = model.d
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
