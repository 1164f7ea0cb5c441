model "llama3_8b" {
  architecture    = "llama"
  layers          = 32
  hidden_size     = 4096
  ffn_hidden_size = 14336
  attention_heads = 32
  kv_heads        = 8
  head_dim        = 128
  vocab_size      = 128256
  sequence_length = 8192
  max_positions   = 8192
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
    theta = 500000
  }

  sources = {
    "*"             = "huggingface.co/meta-llama/Meta-Llama-3-8B config.json, as copied in scaleapi/llm-engine tests @a823696"
    sequence_length = "meta-llama/llama-models models/llama3/MODEL_CARD.md @a9c89c4 (trained on sequences of 8,192 tokens)"
    init_std        = "hub config.json; pytorch/torchtitan models/llama3 @v0.3.0 trains with it, NeMo with 0.01 (8B) and 0.008944 (70B), NVIDIA/Megatron-LM examples/llama @d98e8a6 with 0.0134 (8B)"
    tied_embeddings = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/llama.py @8cfedd7"
    attention_bias  = "huggingface.co/aaditya/Llama3-OpenBioLLM-8B config.json (a derivative)"
    mlp_bias        = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/llama.py @8cfedd7"
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
