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
      recompute         = "per_stage"          # ERROR: unknown-value at "per_stage": "per_stage" is not a value of "recompute", which takes "none", "selective" or "full". No framework recomputes by the pipeline stage: what is recomputed holds for every chunk. stage_layers gives the first stages, which keep the most, fewer layers.
      recompute_modules = ["mlp", "core_atn"] # ERROR: unknown-value at "core_atn": "core_atn" is not a value of "recompute_modules", which takes "core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "op" or "shared_experts". Did you mean "core_attn"?
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
