# Latent attention, a dense first layer, shared experts, multi-token prediction.
model "small" {
  architecture    = "deepseek_v3"
  layers          = 4
  hidden_size     = 64
  ffn_hidden_size = 176
  attention_heads = 4
  kv_heads        = 4
  head_dim        = 24
  vocab_size      = 512
  sequence_length = 64
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-6
  init_std        = 0.02
  tied_embeddings = false
  dropout         = 0
  mtp_layers      = 1
  mtp_loss_scale  = 0.3

  position_embedding "rope" {
    theta = 10000

    scaling {
      type            = "yarn"
      factor          = 4
      original_length = 4096
      beta_fast       = 32
      beta_slow       = 1
      mscale          = 1
      mscale_all_dim  = 1
    }
  }
  mla {
    q_lora_rank      = 32
    kv_lora_rank     = 16
    qk_nope_head_dim = 16
    qk_rope_head_dim = 8
    v_head_dim       = 16
  }
  moe {
    experts                       = 4
    top_k                         = 2
    expert_ffn_hidden_size        = 64
    shared_experts                = 1
    shared_expert_ffn_hidden_size = 64
    first_dense_layers            = 1

    router {
      score            = "sigmoid"
      normalize        = true
      balance          = "bias"
      aux_coefficient  = 1e-3
      bias_update_rate = 1e-3
      groups           = 2
      group_top_k      = 1
      scaling_factor   = 2.5
      dtype            = "fp32"
    }
  }
}
