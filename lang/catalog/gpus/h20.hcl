# Hopper with fewer multiprocessors for the Chinese market.
gpu "h20" {
  memory             = "97871MiB" # as the driver reports it
  torch_memory       = "95.11GiB" # what torch can use of it
  memory_bandwidth   = "4TB/s"
  compute_capability = "9.0"
  sms                = 78
  power              = "400W"

  peak_flops { # dense
    fp32 = "44TFLOPS"
    tf32 = "74TFLOPS"
    bf16 = "148TFLOPS"
    fp16 = "148TFLOPS"
    fp8  = "296TFLOPS"
  }

  sources = {
    "*"                = "willitrunai.com/gpus/h20-96gb"
    memory             = "nvidia-smi output pasted in public issues, other 96 GB parts of the generation"
    sms                = "zangshuxian.com/new/674733024499207168 (Geekbench)"
    compute_capability = "that of the H100 SXM"
    "peak_flops.fp32"  = "zangshuxian.com/new/674733024499207168"
    "peak_flops.tf32"  = "zangshuxian.com/new/674733024499207168"
    "peak_flops.fp8"   = "its 8-bit integer rate, willitrunai.com/gpus/h20-96gb"
    torch_memory       = "assumption: 0.47 GiB less than the driver reports, as on the H100 SXM"
  }
}
