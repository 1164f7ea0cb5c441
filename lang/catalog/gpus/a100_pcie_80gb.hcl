# A card, without NVLink unless two are bridged.
gpu "a100_pcie_80gb" {
  memory             = "81920MiB" # as the driver reports it
  torch_memory       = "79.15GiB" # what torch can use of it
  memory_bandwidth   = "1935GB/s"
  compute_capability = "8.0"
  sms                = 108
  power              = "300W"

  peak_flops { # dense
    fp32 = "19.5TFLOPS"
    tf32 = "156TFLOPS"
    bf16 = "312TFLOPS"
    fp16 = "312TFLOPS"
  }

  sources = {
    "*"          = "NVIDIA A100 datasheet; stas00/ml-engineering @744d01e compute/accelerator"
    memory       = "nvidia-smi output pasted in public issues"
    sms          = "stas00/ml-engineering @744d01e compute/accelerator"
    power        = "NVIDIA A100 datasheet"
    torch_memory = "assumption: 0.85 GiB less than the driver reports, as on the A100 80 GB"
  }
}
