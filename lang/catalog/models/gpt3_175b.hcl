# GPT-3 as training frameworks benchmark it: full causal attention, where the
# original alternates dense and banded sparse layers.
model "gpt3_175b" {
  base            = catalog.model.gpt3_1_7b
  layers          = 96
  hidden_size     = 12288
  ffn_hidden_size = 49152 # 4 × hidden
  attention_heads = 96
  kv_heads        = 96
  head_dim        = 128
  init_std        = 0.006 # the example's --init-method-std; the scaling study left 0.02

  sources = {
    "*"             = "NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh @d98e8a6"
    ffn_hidden_size = "NVIDIA-NeMo/NeMo nemo/collections/llm/gpt/model/base.py GPTConfig175B @8cfedd7"
    head_dim        = "hidden / heads"
    vocab_size      = "Narayanan et al. 2021, arXiv:2104.04473, Table 2 (174.6B parameters); 50,257 unpadded"
    init_std        = "NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh @d98e8a6"
  }
}
