model "qwen3_30b_a3b" {
  base            = catalog.model.qwen3_8b
  architecture    = "qwen3_moe"
  layers          = 48
  hidden_size     = 2048
  ffn_hidden_size = 6144 # of dense layers, of which there are none
  attention_heads = 32
  kv_heads        = 4

  moe {
    experts                = 128
    top_k                  = 8
    expert_ffn_hidden_size = 768

    router {
      score           = "softmax"
      pre_softmax     = false
      normalize       = true # the same as softmax over the chosen experts
      balance         = "aux_loss"
      aux_coefficient = 0.001
      dtype           = "bf16"
    }
  }

  sources = {
    "*"                          = "huggingface.co/Qwen/Qwen3-30B-A3B config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    qk_norm                      = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/qwen3.py @8cfedd7; NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987"
    mlp_bias                     = "NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987"
    init_std                     = "hub config.json; NVIDIA-NeMo/Megatron-Bridge recipes/qwen/h100/qwen3_moe.py @067f987 trains with it, AMD-AGI/Primus with 0.008"
    sequence_length              = "Qwen3 Technical Report, arXiv:2505.09388, section 3.2 (4,096 in the first two of three stages, 32,768 in the last)"
    "moe.router.aux_coefficient" = "hub config.json; NVIDIA-NeMo/Megatron-Bridge qwen3_moe_bridge.py @067f987 trains with it"
    "moe.router.score"           = "pytorch/torchtitan models/qwen3 @v0.2.2"
    "moe.router.dtype"           = "huggingface/transformers models/qwen3_moe/modeling_qwen3_moe.py: gate in the compute precision, softmax in fp32"
  }
}
