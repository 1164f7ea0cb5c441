model "small" {
  architecture    = "mixtral"
  layers          = 4
  hidden_size     = 64
  ffn_hidden_size = 176
  attention_heads = 4
  kv_heads        = 2
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
  moe {
    experts                = 4
    top_k                  = 2
    expert_ffn_hidden_size = 64

    router {
      score           = "softmax"
      normalize       = true
      balance         = "aux_loss"
      aux_coefficient = 0.02
      dtype           = "fp32"
    }
  }
}
