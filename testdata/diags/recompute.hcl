job "a" {
  model   = catalog.model.llama3_8b
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
  constraints {
    layout {
      recompute_modules = ["mlp", "core_atn"] # ERROR: unknown-value at "core_atn": "core_atn" is not a value of "recompute_modules", which takes "core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "op" or "shared_experts". Did you mean "core_attn"?
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
