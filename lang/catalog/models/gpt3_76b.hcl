model "gpt3_76b" {
  base            = catalog.model.gpt3_1_7b
  layers          = 60
  hidden_size     = 10240
  ffn_hidden_size = 40960 # 4 × hidden
  attention_heads = 80
  kv_heads        = 80
  head_dim        = 128

  sources = {
    "*"             = "Narayanan et al. 2021, arXiv:2104.04473, Table 1; NVIDIA/Megatron-LM examples/academic_paper_scripts/sc21/run_table_1.sh @d98e8a6"
    ffn_hidden_size = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave (4 × hidden)"
    head_dim        = "hidden / heads"
    init_std        = "NVIDIA/Megatron-LM megatron/arguments.py @v2.5: default, which the scripts leave"
  }
}
