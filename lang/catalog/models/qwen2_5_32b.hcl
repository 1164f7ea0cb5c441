model "qwen2_5_32b" {
  base            = catalog.model.qwen2_5_7b
  layers          = 64
  hidden_size     = 5120
  ffn_hidden_size = 27648
  attention_heads = 40
  kv_heads        = 8
  norm_epsilon    = 1e-5

  sources = {
    "*"             = "huggingface.co/Qwen/Qwen2.5-32B config.json of the base model, as copied in citsjtu2020/LLM-Prof sglang/Model_Config.md @8434c8d"
    head_dim        = "hidden / heads"
    qkv_bias        = "Qwen2.5 Technical Report, arXiv:2412.15115, section 2; huggingface/transformers models/qwen2/modeling_qwen2.py"
    mlp_bias        = "huggingface/transformers models/qwen2/modeling_qwen2.py"
    init_std        = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen2.py @067f987 trains with it"
    sequence_length = "Qwen2.5 Technical Report, arXiv:2412.15115, section 3.3 (4,096 in the first stage, 32,768 in the second)"
  }
}
