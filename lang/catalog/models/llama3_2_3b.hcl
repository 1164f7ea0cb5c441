model "llama3_2_3b" {
  base            = catalog.model.llama3_2_1b
  layers          = 28
  hidden_size     = 3072
  ffn_hidden_size = 8192
  attention_heads = 24
  head_dim        = 128

  sources = {
    "*"             = "huggingface.co/meta-llama/Llama-3.2-3B config.json, as copied in mlc-ai/mlc-llm model_preset.py @79d603f"
    sequence_length = "not published for this size; the length before rope scaling"
    tied_embeddings = "meta-llama/llama-models models/llama3_2/MODEL_CARD.md @a9c89c4 (shared embeddings)"
    init_std        = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
  }
}
