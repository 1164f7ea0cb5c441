model "qwen2_5_7b" {
  architecture    = "qwen2"
  layers          = 28
  hidden_size     = 3584
  ffn_hidden_size = 18944
  attention_heads = 28
  kv_heads        = 4
  head_dim        = 128
  vocab_size      = 152064
  sequence_length = 4096
  max_positions   = 131072
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-6
  init_std        = 0.02
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  qkv_bias        = true # on query, key and value, not on the output
  mlp_bias        = false
  qk_norm         = false

  position_embedding "rope" {
    theta = 1000000
  }

  sources = {
    "*"             = "huggingface.co/Qwen/Qwen2.5-7B config.json of the base model, as copied in citsjtu2020/LLM-Prof sglang/Model_Config.md @8434c8d"
    head_dim        = "hidden / heads"
    qkv_bias        = "Qwen2.5 Technical Report, arXiv:2412.15115, section 2; huggingface/transformers models/qwen2/modeling_qwen2.py"
    mlp_bias        = "huggingface/transformers models/qwen2/modeling_qwen2.py"
    init_std        = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen2.py @067f987 trains with it"
    sequence_length = "Qwen2.5 Technical Report, arXiv:2412.15115, section 3.3 (4,096 in the first stage, 32,768 in the second)"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.3.0"
    reason   = "0.2.2 has no biases on query, key and value"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
