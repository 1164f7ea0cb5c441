# A card of 72 W, made for inference, without NVLink. Steps of training are held at clocks far below those that its rates are stated at.
gpu "l4" {
  memory             = "23034MiB" # as the driver reports it
  torch_memory       = "22.03GiB" # what torch can use of it
  memory_bandwidth   = "300GB/s"
  compute_capability = "8.9"
  sms                = 58
  power              = "72W"

  peak_flops { # dense
    fp32 = "30.3TFLOPS"
    tf32 = "60TFLOPS"
    bf16 = "121TFLOPS"
    fp16 = "121TFLOPS"
    fp8  = "242TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA L4 datasheet, as quoted in public tables of specifications; its rates of tensor cores are with sparsity, twice these"
    memory             = "nvidia-smi output pasted in github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1638"
    torch_memory       = "totals in CUDA out-of-memory messages pasted in public repositories; 22.17 GiB with older drivers"
    sms                = "7,424 FP32 cores, 128 to a multiprocessor"
    compute_capability = "NVIDIA CUDA GPU table"
    "peak_flops.fp8"   = "twice the 16-bit rate; the datasheet has 485 with sparsity"
  }
}
