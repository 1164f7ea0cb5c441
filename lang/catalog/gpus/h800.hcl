# H100 with NVLink cut to 200 GB/s.
gpu "h800" {
  memory             = "81559MiB" # as the driver reports it
  torch_memory       = "79.18GiB" # what torch can use of it
  memory_bandwidth   = "3.35TB/s"
  compute_capability = "9.0"
  sms                = 132
  power              = "700W"

  peak_flops { # dense
    fp32 = "67TFLOPS"
    tf32 = "494.5TFLOPS"
    bf16 = "989TFLOPS"
    fp16 = "989TFLOPS"
    fp8  = "1979TFLOPS"
  }

  sources = {
    "*"               = "that of the H100 SXM, not read for this part"
    memory            = "nvidia-smi output in InternLM/xtuner documentation"
    memory_bandwidth  = "deepseek-ai/FlashMLA docs/20250422-new-kernel-deep-dive.md @9241ae3"
    "peak_flops.bf16" = "deepseek-ai/FlashMLA docs/20250422-new-kernel-deep-dive.md @9241ae3 (about 865 sustained, at 1,600 MHz)"
    "peak_flops.fp8"  = "that of the H100 SXM, not read for this part"
    sms               = "DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.2"
  }
}
