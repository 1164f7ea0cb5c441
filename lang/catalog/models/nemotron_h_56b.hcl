model "nemotron_h_56b" {
  base            = catalog.model.nemotron_h_8b
  layers          = 118
  layer_pattern   = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
  hidden_size     = 8192
  ffn_hidden_size = 32768
  attention_heads = 64
  init_std        = 0.0099

  mamba {
    heads     = 256
    state_dim = 256
  }

  sources = {
    "*"      = "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/models/nemotronh/nemotron_h_provider.py, as in pufanyi/Megatron-Bridge @af52e85"
    init_std = "NVIDIA/Megatron-LM examples/post_training/modelopt/conf/nvidia/Nemotron-H-56B-Base-8K.sh @d98e8a6"
  }
}
