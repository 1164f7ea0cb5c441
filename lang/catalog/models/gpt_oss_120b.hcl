model "gpt_oss_120b" {
  base   = catalog.model.gpt_oss_20b
  layers = 36

  moe {
    experts = 128
  }

  published = {
    "moe.router.aux_coefficient" = 0.9
  }

  sources = {
    "*"                             = "huggingface.co/openai/gpt-oss-120b config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
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
}
