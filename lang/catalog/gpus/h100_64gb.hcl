# The part of MareNostrum 5: four stacks of HBM2e. Its rates were not read.
gpu "h100_64gb" {
  memory             = "64GiB"
  torch_memory       = "63.53GiB" # what torch can use of it
  memory_bandwidth   = "1.6TB/s"
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
    "*"              = "that of the H100 SXM, not read for this part"
    memory           = "bsc.es/supportkc/docs/MareNostrum5/overview (64 GB HBM2)"
    memory_bandwidth = "assumption: four sixths of the 96 GB part with HBM2e (2.4 TB/s)"
    torch_memory     = "assumption: 0.47 GiB less than the driver reports, as on the H100 SXM"
  }
}
