# Without its multi-token-prediction layers.
model "nemotron_3_super_120b_a12b" {
  base            = catalog.model.nemotron_3_nano_30b_a3b
  layers          = 88
  layer_pattern   = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
  hidden_size     = 4096
  ffn_hidden_size = 2688 # of dense layers, of which there are none
  init_std        = 0.014

  mamba {
    heads = 128
  }

  moe {
    experts                       = 512
    top_k                         = 22
    expert_ffn_hidden_size        = 2688
    shared_expert_ffn_hidden_size = 5376
    latent_size                   = 1024

    router {
      scaling_factor = 5
    }
  }

  sources = {
    "*"                          = "NVIDIA/Megatron-LM tests/functional_tests/test_cases/nemotron/nemotron3_super_release_gb200/model_config.yaml @core_v0.19.0"
    init_std                     = "the same: Megatron-LM's test trains with it"
    "moe.router.aux_coefficient" = "the same: Megatron-LM's test trains with it"
    "moe.router.dtype"           = "the same"
  }
}
