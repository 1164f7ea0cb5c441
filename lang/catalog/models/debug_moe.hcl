# A small mixture of experts for trials.
model "debug_moe" {
  base         = catalog.model.debug
  architecture = "qwen3_moe"
  qk_norm      = true

  moe {
    experts                = 8
    top_k                  = 2
    expert_ffn_hidden_size = 256

    router {
      score           = "softmax"
      pre_softmax     = false
      normalize       = true
      balance         = "aux_loss"
      aux_coefficient = 0.01
      dtype           = "bf16"
    }
  }

  sources = {
    "*" = "defined here"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
    reason   = "without pipeline parallelism before 0.3.0"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
