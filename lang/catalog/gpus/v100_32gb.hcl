# SXM2. No bf16: train in fp16.
gpu "v100_32gb" {
  memory             = "32510MiB" # as the driver reports it
  torch_memory       = "31.74GiB" # what torch can use of it
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
    memory       = "nvidia-smi output pasted in public issues (32,480 and 32,768 with other drivers)"
    torch_memory = "totals in CUDA out-of-memory messages pasted in public issues"
    peak_flops   = "NVIDIA V100 datasheet (SXM2)"
  }
}
