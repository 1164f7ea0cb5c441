model "qwen3_235b_a22b" {
  base            = catalog.model.qwen3_30b_a3b
  layers          = 94
  hidden_size     = 4096
  ffn_hidden_size = 12288 # of dense layers, of which there are none
  attention_heads = 64

  moe {
    expert_ffn_hidden_size = 1536
  }

  sources = {
    "*"                          = "huggingface.co/Qwen/Qwen3-235B-A22B config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    qk_norm                      = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7; NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987"
    mlp_bias                     = "NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987"
    init_std                     = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen3_moe.py @067f987 trains with it, AMD-AGI/Primus with 0.008"
    "position_embedding.theta"   = "hub config.json; 5,000,000 in pytorch/torchtitan models/qwen3 @v0.2.2"
    sequence_length              = "Qwen3 Technical Report, arXiv:2505.09388, section 3.2 (4,096 in the first two of three stages, 32,768 in the last)"
    "moe.router.aux_coefficient" = "hub config.json; NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987 trains with it"
    "moe.router.score"           = "pytorch/torchtitan models/qwen3 @v0.2.2"
    "moe.router.dtype"           = "huggingface/transformers models/qwen3_moe/modeling_qwen3_moe.py: gate in the compute precision, softmax in fp32"
  }
}
