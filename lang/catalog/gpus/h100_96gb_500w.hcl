# The part that TorchTitan's published figures ran on: HBM2e, capped at 500 W.
# At that power it does not hold the peaks, which are those of the 700 W part.
gpu "h100_96gb_500w" {
  memory             = "97871MiB" # as the driver reports it
  torch_memory       = "95.0GiB"  # what torch can use of it
  memory_bandwidth   = "2.4TB/s"
  compute_capability = "9.0"
  sms                = 132
  power              = "500W"

  peak_flops { # dense
    fp32 = "67TFLOPS"
    tf32 = "494.5TFLOPS"
    bf16 = "989TFLOPS"
    fp16 = "989TFLOPS"
    fp8  = "1979TFLOPS"
  }

  sources = {
    "*"               = "that of the H100 SXM, not read for this part"
    memory            = "nvidia-smi output pasted in public issues, other 96 GB parts of the generation"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues of 96 GB parts of the generation"
    memory_bandwidth  = "pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md @b5bcd76; pytorch/ao roofline_utils.py @36027d8"
    "peak_flops.bf16" = "pytorch/ao roofline_utils.py @36027d8"
    power             = "pytorch/torchtitan benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md @b5bcd76"
  }
}
