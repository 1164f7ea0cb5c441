model "qwen3_32b" {
  base            = catalog.model.qwen3_8b
  layers          = 64
  hidden_size     = 5120
  ffn_hidden_size = 25600
  attention_heads = 64

  sources = {
    "*"             = "huggingface.co/Qwen/Qwen3-32B config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    qk_norm         = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7; pytorch/torchtitan models/qwen3 @v0.2.2"
    init_std        = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen3.py @067f987 trains with it"
    mlp_bias        = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen2.py @8cfedd7"
    sequence_length = "Qwen3 Technical Report, arXiv:2505.09388, section 3.2 (4,096 in the first two of three stages, 32,768 in the last)"
  }
}
