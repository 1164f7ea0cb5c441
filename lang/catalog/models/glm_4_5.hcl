model "glm_4_5" {
  architecture    = "glm4_moe"
  layers          = 92
  hidden_size     = 5120
  ffn_hidden_size = 12288 # of the three dense layers
  attention_heads = 96
  kv_heads        = 8
  head_dim        = 128 # the heads are wider than the hidden size
  vocab_size      = 151552
  sequence_length = 4096
  max_positions   = 131072
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  qkv_bias        = true # on query, key and value, not on the output
  mlp_bias        = false
  qk_norm         = true
  mtp_layers      = 1
  mtp_loss_scale  = 0.3 # for the first 15T tokens, then 0.1

  position_embedding "rope" {
    theta   = 1000000
    partial = 0.5
  }
  moe {
    experts                = 160
    top_k                  = 8
    expert_ffn_hidden_size = 1536
    shared_experts         = 1
    first_dense_layers     = 3
    layer_frequency        = 1

    router {
      score            = "sigmoid"
      normalize        = true
      balance          = "bias" # with a small sequence-wise loss beside it
      aux_coefficient  = 1e-4
      bias_update_rate = 1e-3 # 0 after the first 15T tokens
      groups           = 1
      group_top_k      = 1
      scaling_factor   = 2.5
      dtype            = "fp32"
    }
  }

  sources = {
    "*"                           = "huggingface.co/zai-org/GLM-4.5 config.json, as summarised in ggml-org/llama.cpp pull request 15026 and copied in NVIDIA-NeMo/Megatron-Bridge tests/unit_tests/models/glm/test_glm45_bridge.py @067f987 (where norm_epsilon is that of another model)"
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
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    reason = "no model of 0.2.2 or 0.3.0 rotates a part of a head, and ndc emits no multi-token prediction for it"
  }

  built_by "deepspeed" {
    reason = "transformers trains no multi-token prediction and does not update the router's correction bias; with mtp_layers = 0 and balance = \"none\" its GLM-4 MoE classes build the model"
  }
}
