model "mixtral_8x7b" {
  architecture    = "mixtral"
  layers          = 32
  hidden_size     = 4096
  ffn_hidden_size = 14336
  attention_heads = 32
  kv_heads        = 8
  head_dim        = 128
  vocab_size      = 32000
  sequence_length = 32768
  max_positions   = 32768
  activation      = "swiglu"
  normalization   = "rmsnorm"
  norm_epsilon    = 1e-5
  init_std        = 0.02
  dropout         = 0
  tied_embeddings = false
  attention_bias  = false
  mlp_bias        = false
  qk_norm         = false

  position_embedding "rope" {
    theta = 1000000
  }
  moe {
    experts                = 8
    top_k                  = 2
    expert_ffn_hidden_size = 14336

    router {
      score           = "softmax"
      pre_softmax     = false
      normalize       = true # softmax over the chosen experts sums to one
      balance         = "aux_loss"
      aux_coefficient = 0.01
      dtype           = "bf16"
    }
  }

  published = {
    "moe.router.aux_coefficient" = 0.02
  }

  sources = {
    "*"                          = "huggingface.co/mistralai/Mixtral-8x7B-v0.1 config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    head_dim                     = "hidden / heads"
    sequence_length              = "arXiv:2401.04088, Table 1 (context length 32,768)"
    attention_bias               = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/mixtral.py @8cfedd7"
    mlp_bias                     = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/mixtral.py @8cfedd7"
    init_std                     = "hub config.json; NeMo trains with it, NVIDIA/Megatron-LM examples/mixtral @d98e8a6 and AMD-AGI/Primus mixtral_base.yaml with 0.01"
    "moe.router.aux_coefficient" = "NVIDIA/Megatron-LM examples/mixtral/train_mixtral_8x7b_distributed.sh @d98e8a6, and the NeMo and Primus recipes; the hub config.json states 0.02 for transformers, which averages over layers"
    "moe.router.score"           = "arXiv:2401.04088, section 2.1: softmax over the logits of the chosen experts"
    "moe.router.dtype"           = "huggingface/transformers models/mixtral/modeling_mixtral.py: gate in the compute precision, softmax in fp32"
  }

  built_by "megatron" {
    versions = ">= core_v0.15.0"
  }

  built_by "torchtitan" {
    versions = ">= 0.2.2"
    reason   = "as a mixture-of-experts qwen3 model without query and key norms, which has the same tensors"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
