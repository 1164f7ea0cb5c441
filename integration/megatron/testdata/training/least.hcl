model "small" {
  architecture    = "llama"
  layers          = 1
  hidden_size     = 32
  ffn_hidden_size = 32
  attention_heads = 2
  kv_heads        = 1
  head_dim        = 16
  vocab_size      = 512
  sequence_length = 64
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  tied_embeddings = false
  dropout         = 0

  position_embedding "rope" {
    theta = 10000
  }
}
