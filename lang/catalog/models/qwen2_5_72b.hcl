model "qwen2_5_72b" {
  base            = catalog.model.qwen2_5_7b
  layers          = 80
  hidden_size     = 8192
  ffn_hidden_size = 29568
  attention_heads = 64
  kv_heads        = 8
  norm_epsilon    = 1e-5

  sources = {
    "*"             = "huggingface.co/Qwen/Qwen2.5-72B config.json; shapes as in that of Qwen2.5-72B-Instruct, norm_epsilon as in those of Qwen2-72B, Qwen2.5-14B and Qwen2.5-32B (base models; 1e-6 in the Instruct model)"
    head_dim        = "hidden / heads"
    qkv_bias        = "Qwen2.5 Technical Report, arXiv:2412.15115, section 2; huggingface/transformers models/qwen2/modeling_qwen2.py"
    mlp_bias        = "huggingface/transformers models/qwen2/modeling_qwen2.py"
    init_std        = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen2.py @067f987 trains with it"
    sequence_length = "Qwen2.5 Technical Report, arXiv:2412.15115, section 3.3 (4,096 in the first stage, 32,768 in the second)"
  }
}
