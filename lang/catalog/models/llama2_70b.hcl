model "llama2_70b" {
  base            = catalog.model.llama2_7b
  layers          = 80
  hidden_size     = 8192
  ffn_hidden_size = 28672
  attention_heads = 64
  kv_heads        = 8

  sources = {
    "*"                        = "huggingface.co/meta-llama/Llama-2-70b-hf config.json, as copied in scaleapi/llm-engine tests @a823696"
    "position_embedding.theta" = "AMD-AGI/Primus llama2_base.yaml @fd1eeab; 500,000 in meta-llama/llama-models sku_list.py contradicts its own model card"
    sequence_length            = "meta-llama/llama-models models/llama2/MODEL_CARD.md @a9c89c4 (context length 4k)"
    init_std                   = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
  }
}
