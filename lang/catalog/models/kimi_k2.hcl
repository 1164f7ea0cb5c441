model "kimi_k2" {
  base            = catalog.model.deepseek_v3
  attention_heads = 64
  kv_heads        = 64
  vocab_size      = 163840
  max_positions   = 131072
  init_std        = 0.02
  mtp_layers      = 0
  mtp_loss_scale  = 0

  position_embedding "rope" {
    theta = 50000

    scaling {
      factor    = 32
      beta_fast = 1
    }
  }
  moe {
    experts            = 384
    first_dense_layers = 1

    router {
      aux_coefficient = 0.001
      groups          = 1 # no group limit
      group_top_k     = 1
      scaling_factor  = 2.827
    }
  }

  published = {}

  sources = {
    "*"                           = "huggingface.co/moonshotai/Kimi-K2-Instruct config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    sequence_length               = "Kimi K2 Technical Report, arXiv:2507.20534, section 2.5"
    mlp_bias                      = "NVIDIA-NeMo/Megatron-Bridge kimi_bridge.py @067f987"
    init_std                      = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge kimi_bridge.py @067f987 takes it to pre-train; the report states none"
    "moe.router.aux_coefficient"  = "hub config.json; NVIDIA-NeMo/Megatron-Bridge kimi_bridge.py @067f987 trains with it"
    "moe.router.bias_update_rate" = "not published; AMD-AGI/Primus deepseek_v3_base.yaml @fd1eeab"
    "moe.router.scaling_factor"   = "hub config.json; AMD-AGI/Primus kimi_k2.yaml inherits 1.0"
    "moe.router.dtype"            = "huggingface/transformers models/deepseek_v3/modeling_deepseek_v3.py: gate in fp32"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
    reason   = "the command line cannot set beta_fast for MLA, which acts beyond 4,096 tokens only; QK-clip of the original run needs core_v0.16.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
    reason   = ""
  }

  built_by "deepspeed" {
    reason = "transformers does not update the router's correction bias; with balance = \"none\" its DeepSeek-V3 classes build the model"
  }
}
