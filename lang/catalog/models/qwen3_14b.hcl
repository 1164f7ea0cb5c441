model "qwen3_14b" {
  base            = catalog.model.qwen3_8b
  layers          = 40
  hidden_size     = 5120
  ffn_hidden_size = 17408
  attention_heads = 40

  sources = {
    "*"                        = "config.json of huggingface.co/Rorical/qode-14b-mlx-4Bit (a quantised copy), agreeing with NeMo and TorchTitan"
    vocab_size                 = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7"
    norm_epsilon               = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen2.py @8cfedd7"
    "position_embedding.theta" = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen2.py @8cfedd7"
    qk_norm                    = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7; pytorch/torchtitan models/qwen3 @v0.2.2"
    init_std                   = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen3.py @067f987 trains with it"
    mlp_bias                   = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen2.py @8cfedd7"
    sequence_length            = "Qwen3 Technical Report, arXiv:2505.09388, section 3.2 (4,096 in the first two of three stages, 32,768 in the last)"
  }
}
