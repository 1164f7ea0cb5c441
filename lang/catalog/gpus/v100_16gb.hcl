# SXM2. No bf16: train in fp16.
gpu "v100_16gb" {
  memory             = "16160MiB" # as the driver reports it
  torch_memory       = "15.78GiB" # what torch can use of it
  memory_bandwidth   = "900GB/s"
  compute_capability = "7.0"
  sms                = 80
  power              = "300W"

  peak_flops { # dense
    fp32 = "15.7TFLOPS"
    fp16 = "125TFLOPS"
  }

  sources = {
    "*"          = "NVIDIA V100 datasheet, as tabulated by docs.olcf.ornl.gov"
    memory       = "nvidia-smi output pasted in github.com/microsoft/Bringing-Old-Photos-Back-to-Life/issues/19 (16,130 with older drivers)"
    torch_memory = "totals in CUDA out-of-memory messages pasted in public issues, such as github.com/kchengiva/Shift-GCN/issues/34"
    peak_flops   = "NVIDIA V100 datasheet (SXM2)"
  }
}
