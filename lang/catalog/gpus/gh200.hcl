# The 96 GB version. Power is that of the GPU; the module with its Grace CPU is set to 450 to 1,000 W.
gpu "gh200" {
  memory             = "97871MiB" # as the driver reports it
  torch_memory       = "95.0GiB"  # what torch can use of it
  memory_bandwidth   = "4TB/s"
  compute_capability = "9.0"
  sms                = 132
  power              = "900W"

  peak_flops { # dense
    fp32 = "67TFLOPS"
    tf32 = "494TFLOPS"
    bf16 = "990TFLOPS"
    fp16 = "990TFLOPS"
    fp8  = "1979TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA GH200 datasheet, dense column"
    memory             = "nvidia-smi output pasted in public issues"
    torch_memory       = "totals in CUDA out-of-memory messages pasted in public issues of 96 GB parts of the generation"
    sms                = "torch device-property dumps in public issues"
    compute_capability = "that of the H100 SXM, not read for this part"
    power              = "cap seen in nvidia-smi output pasted in public issues; sites set less"
  }
}
