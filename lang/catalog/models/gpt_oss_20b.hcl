model "gpt_oss_20b" {
  architecture      = "gpt_oss"
  layers            = 24
  hidden_size       = 2880
  ffn_hidden_size   = 2880
  attention_heads   = 64
  kv_heads          = 8
  head_dim          = 64
  vocab_size        = 201088
  sequence_length   = 4096
  max_positions     = 131072
  activation        = "swiglu"
  activation_alpha  = 1.702
  activation_clamp  = 7
  activation_offset = 1
  normalization     = "rmsnorm"
  norm_epsilon      = 1e-5
  init_std          = 0.02
  dropout           = 0
  tied_embeddings   = false
  attention_bias    = true
  mlp_bias          = true
  qk_norm           = false
  attention_sinks   = true

  position_embedding "rope" {
    theta = 150000

    scaling {
      type            = "yarn"
      factor          = 32
      original_length = 4096
      beta_fast       = 32
      beta_slow       = 1
      truncate        = false
    }
  }
  sliding_window {
    size    = 128
    pattern = 2 # every second layer attends to everything
  }
  moe {
    experts                = 32
    top_k                  = 4
    expert_ffn_hidden_size = 2880

    router {
      score              = "softmax"
      pre_softmax        = false
      normalize          = true
      balance            = "aux_loss"
      aux_coefficient    = 0.001
      z_loss_coefficient = 0.001
      bias               = true
      dtype              = "fp32"
    }
  }

  published = {
    "moe.router.aux_coefficient" = 0.9
  }

  sources = {
    "*"                             = "huggingface.co/openai/gpt-oss-20b config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    activation_alpha                = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    activation_clamp                = "swiglu_limit of the hub config.json"
    activation_offset               = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    attention_bias                  = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    mlp_bias                        = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    attention_sinks                 = "openai/gpt-oss gpt_oss/torch/model.py @7b58334 (one per head)"
    sequence_length                 = "not published; initial_context_length of the hub config.json"
    sliding_window                  = "openai/gpt-oss gpt_oss/torch/model.py @7b58334; layer_types of the hub config.json"
    "moe.router.bias"               = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    "moe.router.score"              = "openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    "moe.router.z_loss_coefficient" = "NVIDIA/Megatron-LM examples/gptoss/02_train.sh @d98e8a6"
    "moe.router.dtype"              = "NVIDIA/Megatron-LM examples/gptoss/02_train.sh @d98e8a6; bf16 in inference, openai/gpt-oss gpt_oss/torch/model.py @7b58334"
    "moe.router.aux_coefficient"    = "NVIDIA/Megatron-LM examples/gptoss/02_train.sh @d98e8a6; OpenAI's recipe is not published, and the 0.9 of the hub config.json (router_aux_loss_coef) acts only where transformers fine-tunes with output_router_logits"
    init_std                        = "hub config.json; NVIDIA/Megatron-LM examples/gptoss/02_train.sh @d98e8a6 leaves the default, which is the same"
  }

  built_by "megatron" {
    versions = ">= core_v0.19.0"
    reason   = "sinks, window, clamp and offset exist from core_v0.15.0, the options of YaRN without MLA from core_v0.19.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
    reason   = "without pipeline parallelism before 0.3.0"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
