# The GPT models of Megatron's scaling study; the other sizes build on this one.
model "gpt3_1_7b" {
  architecture    = "gpt"
  layers          = 24
  hidden_size     = 2304
  ffn_hidden_size = 9216 # 4 × hidden
  attention_heads = 24
  kv_heads        = 24
  head_dim        = 96
  vocab_size      = 51200 # 50,257 padded: the study states the padded size for all ten models
  sequence_length = 2048
  max_positions   = 2048
  activation      = "gelu"
  normalization   = "layernorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  dropout         = 0.1
  tied_embeddings = true
  attention_bias  = true
  mlp_bias        = true
  qk_norm         = false

  position_embedding "learned" {
  }

  sources = {
    "*"             = "Narayanan et al. 2021, arXiv:2104.04473, Table 1; NVIDIA/Megatron-LM examples/academic_paper_scripts/sc21/run_table_1.sh @d98e8a6"
    ffn_hidden_size = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave (4 × hidden)"
    head_dim        = "hidden / heads"
    vocab_size      = "NVIDIA/Megatron-LM README.md @v2.5"
    norm_epsilon    = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
    init_std        = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
    dropout         = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
    tied_embeddings = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
    activation      = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    reason = "no model of 0.2.2 or 0.3.0 has learned positions, LayerNorm or a GELU without a gate"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
