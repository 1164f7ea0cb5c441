model "mixtral_8x22b" {
  base            = catalog.model.mixtral_8x7b
  layers          = 56
  hidden_size     = 6144
  ffn_hidden_size = 16384
  attention_heads = 48
  sequence_length = 4096 # not published; benchmarks train with it
  max_positions   = 65536

  moe {
    expert_ffn_hidden_size = 16384
  }

  published = {
    "moe.router.aux_coefficient" = 0.001
  }

  sources = {
    "*"                          = "huggingface.co/mistralai/Mixtral-8x22B-v0.1 config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    head_dim                     = "hidden / heads"
    vocab_size                   = "hub config.json of v0.1; 32,768 in v0.3 and Instruct-v0.1"
    sequence_length              = "assumption: that of the NeMo recipe, NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/mixtral.py @8cfedd7"
    attention_bias               = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/mixtral.py @8cfedd7"
    mlp_bias                     = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/mixtral.py @8cfedd7"
    "moe.router.aux_coefficient" = "the NeMo and Primus recipes; the hub config.json states 0.001, the class default of transformers, which averages over layers"
    "moe.router.score"           = "arXiv:2401.04088, section 2.1: softmax over the logits of the chosen experts"
    "moe.router.dtype"           = "huggingface/transformers models/mixtral/modeling_mixtral.py: gate in the compute precision, softmax in fp32"
    init_std                     = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
  }
}
