model "llama3_1_8b" {
  base          = catalog.model.llama3_8b
  max_positions = 131072

  position_embedding "rope" {
    scaling {
      type                  = "llama3"
      factor                = 8
      original_length       = 8192
      low_frequency_factor  = 1
      high_frequency_factor = 4
    }
  }

  sources = {
    "*"             = "huggingface.co/meta-llama/Llama-3.1-8B config.json, as copied in ai-dynamo/aiconfigurator model_configs @095f58a"
    sequence_length = "Llama 3 report, arXiv:2407.21783, section 3.4 (8K context in the first stage); published for 405B, taken for the other sizes, whose rope is stretched from 8,192"
    init_std        = "hub config.json; pytorch/torchtitan models/llama3 @v0.3.0 trains with it, NeMo with 0.01 (8B) and 0.008944 (70B), NVIDIA/Megatron-LM examples/llama @d98e8a6 with 0.0134 (8B)"
  }
}
