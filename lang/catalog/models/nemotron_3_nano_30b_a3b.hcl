model "nemotron_3_nano_30b_a3b" {
  base            = catalog.model.nemotron_h_8b
  layers          = 52
  layer_pattern   = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
  hidden_size     = 2688
  ffn_hidden_size = 1856 # of dense layers, of which there are none
  attention_heads = 32
  kv_heads        = 2
  init_std        = 0.0173

  mamba {
    heads = 64
  }

  moe {
    experts                       = 128
    top_k                         = 6
    expert_ffn_hidden_size        = 1856
    shared_experts                = 1
    shared_expert_ffn_hidden_size = 3712

    router {
      score           = "sigmoid"
      balance         = "bias"
      aux_coefficient = 1e-4
      scaling_factor  = 2.5
      dtype           = "fp32"
    }
  }

  sources = {
    "*"                          = "NVIDIA-NeMo/Megatron-Bridge v0.4.0 Nemotron3NanoProvider; launch script of the same model for Megatron-LM core_v0.18.0 with --hybrid-layer-pattern"
    init_std                     = "NVIDIA's launch script of the model for Megatron-LM trains with it"
    "moe.router.aux_coefficient" = "NVIDIA's launch script of the model for Megatron-LM trains with it: --moe-router-load-balancing-type seq_aux_loss, --moe-aux-loss-coeff 1e-4"
    "moe.router.dtype"           = "NVIDIA's launch script of the model for Megatron-LM: --moe-router-dtype fp32"
  }
}
