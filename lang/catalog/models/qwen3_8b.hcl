model "qwen3_8b" {
  architecture    = "qwen3"
  layers          = 36
  hidden_size     = 4096
  ffn_hidden_size = 12288
  attention_heads = 32
  kv_heads        = 8
  head_dim        = 128
  vocab_size      = 151936
  sequence_length = 4096
  max_positions   = 40960
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-6
  init_std        = 0.02
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  mlp_bias        = false
  qk_norm         = true

  position_embedding "rope" {
    theta = 1000000
  }

  sources = {
    "*"             = "huggingface.co/Qwen/Qwen3-8B config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    qk_norm         = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7; pytorch/torchtitan models/qwen3 @v0.2.2"
    init_std        = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen3.py @067f987 trains with it"
    mlp_bias        = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen2.py @8cfedd7"
    sequence_length = "Qwen3 Technical Report, arXiv:2505.09388, section 3.2 (4,096 in the first two of three stages, 32,768 in the last)"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
    reason   = "without pipeline parallelism before 0.3.0"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
