model "llama2_7b" {
  architecture    = "llama"
  layers          = 32
  hidden_size     = 4096
  ffn_hidden_size = 11008
  attention_heads = 32
  kv_heads        = 32 # the model card: no grouped queries at this size
  head_dim        = 128
  vocab_size      = 32000
  sequence_length = 4096
  max_positions   = 4096
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
    "*"                        = "huggingface.co/meta-llama/Llama-2-7b-hf config.json, as copied in scaleapi/llm-engine tests @a823696"
    "position_embedding.theta" = "AMD-AGI/Primus llama2_base.yaml @fd1eeab; 500,000 in meta-llama/llama-models sku_list.py contradicts its own model card"
    sequence_length            = "meta-llama/llama-models models/llama2/MODEL_CARD.md @a9c89c4 (context length 4k)"
    tied_embeddings            = "mlc-ai/mlc-llm model_preset.py @79d603f"
    attention_bias             = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/llama.py @8cfedd7"
    mlp_bias                   = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/llama.py @8cfedd7"
    init_std                   = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
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
