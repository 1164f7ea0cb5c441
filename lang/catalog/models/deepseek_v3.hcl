model "deepseek_v3" {
  architecture    = "deepseek_v3"
  layers          = 61
  hidden_size     = 7168
  ffn_hidden_size = 18432 # of the three dense layers
  attention_heads = 128
  kv_heads        = 128 # nominal: keys and values come from one latent
  head_dim        = 192 # qk_nope_head_dim + qk_rope_head_dim
  vocab_size      = 129280
  sequence_length = 4096
  max_positions   = 163840
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-6
  init_std        = 0.006
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  mlp_bias        = false
  qk_norm         = false # the norms on the two latents belong to mla
  mtp_layers      = 1
  mtp_loss_scale  = 0.3 # for the first 10T tokens, then 0.1

  position_embedding "rope" {
    theta = 10000

    scaling {
      type            = "yarn"
      factor          = 40
      original_length = 4096
      beta_fast       = 32
      beta_slow       = 1
      mscale          = 1
      mscale_all_dim  = 1
    }
  }
  mla {
    q_lora_rank      = 1536
    kv_lora_rank     = 512
    qk_nope_head_dim = 128
    qk_rope_head_dim = 64
    v_head_dim       = 128
  }
  moe {
    experts                = 256
    top_k                  = 8
    expert_ffn_hidden_size = 2048
    shared_experts         = 1
    first_dense_layers     = 3
    layer_frequency        = 1

    router {
      score            = "sigmoid"
      normalize        = true
      balance          = "bias" # with a small sequence-wise loss beside it
      aux_coefficient  = 1e-4
      bias_update_rate = 1e-3 # 0 for the last 500B tokens
      groups           = 8
      group_top_k      = 4
      scaling_factor   = 2.5
      dtype            = "fp32"
    }
  }

  published = {
    init_std = 0.02
  }

  sources = {
    "*"                           = "huggingface.co/deepseek-ai/DeepSeek-V3 config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    sequence_length               = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2"
    init_std                      = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; NVIDIA-NeMo/Megatron-Bridge recipes/deepseek/h100/deepseek_v3.py @067f987 agrees; the hub config.json has the class default of 0.02"
    mlp_bias                      = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/deepseek.py @8cfedd7"
    mtp_loss_scale                = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2"
    "moe.router.balance"          = "arXiv:2412.19437, section 2.1.2; topk_method noaux_tc in the hub config.json"
    "moe.router.aux_coefficient"  = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; NeMo agrees, AMD-AGI/Primus uses 0.001"
    "moe.router.bias_update_rate" = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2"
    "moe.router.dtype"            = "huggingface/transformers models/deepseek_v3/modeling_deepseek_v3.py: gate in fp32"
    "position_embedding.scaling"  = "deepseek-ai/DeepSeek-V3 inference/model.py @9b4e978; the report stretches after pre-training, NVIDIA's recipes (NVIDIA/Megatron-LM examples/megatron_fsdp/sbatch_mfsdp_deepseek_v3.sh @d98e8a6) pre-train with it"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    reason = "multi-token prediction exists from 0.3.0 on, but not with pipeline or context parallelism, and ndc does not emit it; with mtp_layers = 0 every release builds it"
  }

  built_by "deepspeed" {
    reason = "transformers has no multi-token prediction and does not update the router's correction bias; with mtp_layers = 0 and balance = \"none\" its classes build the model"
  }
}
