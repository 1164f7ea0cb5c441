model "nemotron_h_47b" {
  base            = catalog.model.nemotron_h_8b
  layers          = 98
  layer_pattern   = "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M---MM---M-M*-M-M-M-M-M-"
  hidden_size     = 8192
  ffn_hidden_size = 30720
  attention_heads = 64
  init_std        = 0.0099

  mamba {
    heads     = 256
    state_dim = 256
  }

  sources = {
    "*"      = "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/models/nemotronh/nemotron_h_provider.py, as in pufanyi/Megatron-Bridge @af52e85"
    init_std = "that of nemotron_h_56b, from which it was pruned"
  }
}
