model "llama3_70b" {
  base            = catalog.model.llama3_8b
  layers          = 80
  hidden_size     = 8192
  ffn_hidden_size = 28672
  attention_heads = 64

  sources = {
    "*"             = "huggingface.co/meta-llama/Meta-Llama-3-70B config.json, as copied in scaleapi/llm-engine tests @a823696"
    sequence_length = "meta-llama/llama-models models/llama3/MODEL_CARD.md @a9c89c4 (trained on sequences of 8,192 tokens)"
    init_std        = "hub config.json; pytorch/torchtitan models/llama3 @v0.3.0 trains with it, NeMo with 0.01 (8B) and 0.008944 (70B), NVIDIA/Megatron-LM examples/llama @d98e8a6 with 0.0134 (8B)"
  }
}
