# A small dense model for trials: a few million parameters, a step in milliseconds.
model "debug" {
  architecture    = "llama"
  layers          = 4
  hidden_size     = 256
  ffn_hidden_size = 768
  attention_heads = 4
  kv_heads        = 2
  head_dim        = 64
  vocab_size      = 2048
  sequence_length = 512
  max_positions   = 512
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  mlp_bias        = false
  qk_norm         = false

  position_embedding "rope" {
    theta = 10000
  }

  sources = {
    "*" = "defined here; the vocabulary fits the test tokenizer of pytorch/torchtitan (2,020 entries)"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
