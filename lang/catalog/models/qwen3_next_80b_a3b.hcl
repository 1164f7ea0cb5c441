# Without its multi-token-prediction layer. Each layer of the published model is
# two here: a mixer, and the experts after it.
model "qwen3_next_80b_a3b" {
  architecture          = "qwen3_next"
  layers                = 96
  layer_pattern         = "GEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*EGEGEGE*E"
  hidden_size           = 2048
  ffn_hidden_size       = 5120 # of dense layers, of which there are none
  attention_heads       = 16
  kv_heads              = 2
  head_dim              = 256
  vocab_size            = 151936
  sequence_length       = 4096
  max_positions         = 262144
  activation            = "swiglu"
  normalization         = "rmsnorm"
  norm_epsilon          = 1e-6
  zero_centered_norm    = true
  init_std              = 0.02
  tied_embeddings       = false
  qk_norm               = true
  attention_output_gate = true

  position_embedding "rope" {
    theta   = 10000000
    partial = 0.25
  }

  delta_net {
    key_heads      = 16
    value_heads    = 32
    key_head_dim   = 128
    value_head_dim = 128
    conv_kernel    = 4
  }

  moe {
    experts                       = 512
    top_k                         = 10
    expert_ffn_hidden_size        = 512
    shared_experts                = 1
    shared_expert_ffn_hidden_size = 512
    shared_expert_gate            = true

    router {
      score           = "softmax"
      normalize       = true
      balance         = "aux_loss"
      aux_coefficient = 0.001
      dtype           = "fp32"
    }
  }

  sources = {
    "*"                          = "huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct config.json; huggingface/transformers models/qwen3_next"
    sequence_length              = "as for qwen3_30b_a3b: the first stages of Qwen3, arXiv:2505.09388, section 3.2"
    init_std                     = "hub config.json; as NVIDIA-NeMo/Megatron-Bridge trains qwen3_30b_a3b"
    "moe.router.aux_coefficient" = "hub config.json; as NVIDIA-NeMo/Megatron-Bridge trains qwen3_30b_a3b"
    zero_centered_norm           = "huggingface/transformers models/qwen3_next/modeling_qwen3_next.py, Qwen3NextRMSNorm"
    "moe.router.dtype"           = "as NVIDIA-NeMo/Megatron-Bridge trains models of many experts; published: softmax in fp32"
  }

  built_by "megatron" {
    versions = ">= core_v0.18.0"
    reason   = "hybrid layers without norms on queries and keys before"
  }

  built_by "torchtitan" {
    reason = "hybrid models"
  }

  built_by "deepspeed" {
    reason = "hybrid models"
  }
}
