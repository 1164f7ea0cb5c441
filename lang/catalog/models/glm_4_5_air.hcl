model "glm_4_5_air" {
  base            = catalog.model.glm_4_5
  layers          = 46
  hidden_size     = 4096
  ffn_hidden_size = 10944 # of the dense layer
  qk_norm         = false

  moe {
    experts                = 128
    expert_ffn_hidden_size = 1408
    first_dense_layers     = 1

    router {
      scaling_factor = 1
    }
  }

  sources = {
    "*"                           = "huggingface.co/zai-org/GLM-4.5-Air config.json, as summarised in ggml-org/llama.cpp pull request 15026 and copied in NVIDIA-NeMo/Megatron-Bridge tests/unit_tests/models/glm/test_glm45_bridge.py @067f987 (where norm_epsilon is that of another model)"
    qkv_bias                      = "attention_bias of the hub config.json, which is on query, key and value alone: huggingface/transformers models/glm4_moe/modeling_glm4_moe.py"
    mlp_bias                      = "huggingface/transformers models/glm4_moe/modeling_glm4_moe.py"
    norm_epsilon                  = "ggml-org/llama.cpp pull request 15026; class default of huggingface/transformers models/glm4_moe"
    init_std                      = "hub config.json; NVIDIA-NeMo/Megatron-Bridge @067f987 trains with it"
    sequence_length               = "GLM-4.5 report, arXiv:2508.06471, section 2.3 (4,096 in pre-training, 32,768 and 131,072 in mid-training)"
    mtp_loss_scale                = "GLM-4.5 report, arXiv:2508.06471, section 2.4; NVIDIA-NeMo/Megatron-Bridge glm45_bridge.py @067f987"
    "moe.router.balance"          = "GLM-4.5 report, arXiv:2508.06471, section 2.1: loss-free balance routing with sigmoid gates"
    "moe.router.aux_coefficient"  = "GLM-4.5 report, arXiv:2508.06471, section 2.4; Megatron-Bridge glm45_bridge.py @067f987 has 0.001"
    "moe.router.bias_update_rate" = "GLM-4.5 report, arXiv:2508.06471, section 2.4; Megatron-Bridge freezes the bias for fine-tuning"
    "moe.router.dtype"            = "huggingface/transformers models/glm4_moe/modeling_glm4_moe.py: gate in fp32; Megatron-Bridge glm45_bridge.py @067f987"
    "moe.router.scaling_factor"   = "ggml-org/llama.cpp pull request 15026"
  }
}
