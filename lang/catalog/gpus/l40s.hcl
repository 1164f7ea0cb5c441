# A card of the Ada generation, without NVLink.
gpu "l40s" {
  memory             = "46068MiB" # as the driver reports it
  torch_memory       = "44.52GiB" # what torch can use of it
  memory_bandwidth   = "864GB/s"
  compute_capability = "8.9"
  sms                = 142
  power              = "350W"

  peak_flops { # dense
    fp32 = "91.6TFLOPS"
    tf32 = "183TFLOPS"
    bf16 = "362.05TFLOPS"
    fp16 = "362.05TFLOPS"
    fp8  = "724.1TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA L40S datasheet, as quoted on mullet.se; stas00/ml-engineering @744d01e compute/accelerator"
    memory             = "nvidia-smi output pasted in public issues"
    sms                = "142 RT cores, one to a multiprocessor"
    "peak_flops.fp8"   = "twice the 16-bit rate; the datasheet has 733"
    compute_capability = "NVIDIA CUDA GPU table"
    torch_memory       = "assumption: 0.47 GiB less than the driver reports, as on the H100 SXM"
  }
}
