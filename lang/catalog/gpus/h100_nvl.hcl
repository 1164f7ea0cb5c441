# A card of 350 to 400 W, of which two are bridged by NVLink.
gpu "h100_nvl" {
  memory             = "95830MiB" # as the driver reports it
  torch_memory       = "93.11GiB" # what torch can use of it
  memory_bandwidth   = "3.9TB/s"
  compute_capability = "9.0"
  sms                = 132
  power              = "400W"

  peak_flops { # dense
    fp32 = "60TFLOPS"
    tf32 = "417.5TFLOPS"
    bf16 = "835.5TFLOPS"
    fp16 = "835.5TFLOPS"
    fp8  = "1670.5TFLOPS"
  }

  sources = {
    "*"              = "assumption: the NVL column of NVIDIA's H100 datasheet (tensor rates with sparsity, halved), which was not read again"
    memory           = "nvidia-smi output pasted in public issues"
    memory_bandwidth = "stas00/ml-engineering @744d01e compute/accelerator"
    sms              = "gpu.blog/gpus/nvidia-h100-nvl"
    power            = "gpu.blog/gpus/nvidia-h100-nvl (350 to 400 W)"
    torch_memory     = "assumption: 0.47 GiB less than the driver reports, as on the H100 SXM"
  }
}
