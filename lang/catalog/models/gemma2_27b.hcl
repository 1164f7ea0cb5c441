model "gemma2_27b" {
  architecture            = "gemma2"
  layers                  = 46
  hidden_size             = 4608
  ffn_hidden_size         = 36864
  attention_heads         = 32
  kv_heads                = 16
  head_dim                = 128
  vocab_size              = 256000
  sequence_length         = 8192
  max_positions           = 8192
  activation              = "geglu" # tanh approximation
  normalization           = "rmsnorm"
  zero_centered_norm      = true
  post_norms              = true
  norm_epsilon            = 1e-6
  init_std                = 0.02
  dropout                 = 0
  tied_embeddings         = true
  attention_bias          = false
  mlp_bias                = false
  qk_norm                 = false
  embedding_scale         = pow(4608, 0.5) # square root of the hidden size
  attention_scale         = pow(144, -0.5) # query_pre_attn_scalar: hidden / heads, not the head size
  attention_logit_softcap = 50
  final_logit_softcap     = 30

  position_embedding "rope" {
    theta = 10000
  }
  sliding_window {
    size    = 4096
    pattern = 2 # every second layer attends to everything
  }

  sources = {
    "*"                      = "huggingface.co/google/gemma-2-27b config.json, as copied in mlc-ai/mlc-llm model_preset.py @79d603f"
    sequence_length          = "Gemma 2 report, arXiv:2408.00118 (context of 8,192 tokens)"
    zero_centered_norm       = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/gemma2.py @8cfedd7; NVIDIA-NeMo/Megatron-Bridge gemma2_provider.py @067f987"
    post_norms               = "google/gemma_pytorch gemma/config.py @014acb7"
    "sliding_window.pattern" = "google/gemma_pytorch gemma/config.py @014acb7"
    embedding_scale          = "google/gemma_pytorch gemma/model.py @014acb7"
    tied_embeddings          = "huggingface/transformers models/gemma2/configuration_gemma2.py @008e574"
    mlp_bias                 = "NVIDIA-NeMo/Megatron-Bridge gemma2_provider.py @067f987"
    init_std                 = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
  }

  built_by "megatron" {
    reason = "no version has a flag for soft-caps on logits, norms after the blocks or a scaled embedding"
  }

  built_by "torchtitan" {
    reason = "no model of 0.2.2 or 0.3.0 has soft-caps or norms after the blocks"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
