model "nemotron_h_8b" {
  architecture    = "nemotron_h"
  layers          = 52
  layer_pattern   = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
  hidden_size     = 4096
  ffn_hidden_size = 21504
  attention_heads = 32
  kv_heads        = 8
  head_dim        = 128
  vocab_size      = 131072
  sequence_length = 8192
  activation      = "relu2"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.014
  tied_embeddings = false

  position_embedding "none" {}

  mamba {
    heads       = 128
    head_dim    = 64
    state_dim   = 128
    groups      = 8
    conv_kernel = 4
  }

  sources = {
    "*"                = "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/models/nemotronh/nemotron_h_provider.py, as in pufanyi/Megatron-Bridge @af52e85"
    vocab_size         = "huggingface/transformers NemotronHConfig, whose defaults are this model"
    norm_epsilon       = "huggingface/transformers NemotronHConfig"
    init_std           = "NVIDIA/bionemo-framework's Evo2 model of the same pattern and sizes trains with it; the original's is not published"
    position_embedding = "Nemotron-H, arXiv:2504.03624, section 2.1: no position embeddings"
  }

  built_by "megatron" {
    versions = ">= core_v0.17.0"
    reason   = "no --hybrid-layer-pattern before"
  }

  built_by "torchtitan" {
    reason = "hybrid models"
  }

  built_by "deepspeed" {
    reason = "hybrid models"
  }
}
