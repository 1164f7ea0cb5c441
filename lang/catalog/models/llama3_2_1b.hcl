model "llama3_2_1b" {
  base            = catalog.model.llama3_1_8b
  layers          = 16
  hidden_size     = 2048
  ffn_hidden_size = 8192
  attention_heads = 32
  head_dim        = 64
  tied_embeddings = true

  position_embedding "rope" {
    scaling {
      type                  = "llama3"
      factor                = 32
      original_length       = 8192
      low_frequency_factor  = 1
      high_frequency_factor = 4
    }
  }

  sources = {
    "*"             = "huggingface.co/meta-llama/Llama-3.2-1B config.json, as copied in mlc-ai/mlc-llm model_preset.py @79d603f"
    sequence_length = "not published for this size; the length before rope scaling"
    tied_embeddings = "meta-llama/llama-models models/llama3_2/MODEL_CARD.md @a9c89c4 (shared embeddings)"
    init_std        = "hub config.json, from which NVIDIA-NeMo/Megatron-Bridge conversion/model_bridge.py @067f987 takes it to pre-train"
  }

  built_by "megatron" {
    versions = ""
    reason   = "pretrain_gpt.py builds the llama3 scaling of rope with a factor of 8, whatever --rope-scaling-factor says"
  }

  built_by "torchtitan" {
    versions = ">= 0.3.0"
    reason   = "0.2.2's llama3 model cannot tie the output layer to the embeddings"
  }

  built_by "deepspeed" {
    versions = ">= 0.16.4"
  }
}
