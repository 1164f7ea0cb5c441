# A card of 350 W, without NVLink unless two are bridged.
gpu "h100_pcie" {
  memory             = "81559MiB" # as the driver reports it
  torch_memory       = "79.18GiB" # what torch can use of it
  memory_bandwidth   = "2TB/s"
  compute_capability = "9.0"
  sms                = 114
  power              = "350W"

  peak_flops { # dense
    fp32 = "51TFLOPS"
    tf32 = "378TFLOPS"
    bf16 = "756TFLOPS"
    fp16 = "756TFLOPS"
    fp8  = "1513TFLOPS"
  }

  sources = {
    "*"          = "NVIDIA H100 datasheet (PCIe column; tensor rates with sparsity, halved); stas00/ml-engineering @744d01e compute/accelerator"
    memory       = "nvidia-smi output pasted in public issues"
    sms          = "14,592 FP32 cores, hmc-tech.com/gpu; 128 to a multiprocessor"
    power        = "hmc-tech.com/gpu"
    torch_memory = "assumption: 0.47 GiB less than the driver reports, as on the H100 SXM"
  }
}
