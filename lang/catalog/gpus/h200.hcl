gpu "h200" {
  memory             = "143771MiB" # as the driver reports it
  torch_memory       = "139.8GiB"  # what torch can use of it
  memory_bandwidth   = "4.8TB/s"
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
    "*"               = "NVIDIA H200 datasheet (tensor rates with sparsity, halved)"
    memory            = "mlcommons/training_results_v4.0 NVIDIA/systems/h200_ngc24.04_nemo.json"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues (139.72 to 139.81)"
    memory_bandwidth  = "NVIDIA H200 datasheet; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.bf16" = "NVIDIA H200 datasheet; pytorch/torchtitan tools/utils.py @b5bcd76"
    sms               = "stas00/ml-engineering @744d01e compute/accelerator"
    power             = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
  }
}
