# The part of Leonardo: more multiprocessors than others of its generation, and four stacks of memory.
gpu "a100_64gb" {
  memory             = "65536MiB" # as the driver reports it
  torch_memory       = "63.15GiB" # what torch can use of it
  memory_bandwidth   = "1640GB/s"
  compute_capability = "8.0"
  sms                = 124
  power              = "440W"

  peak_flops { # dense
    fp32 = "22.4TFLOPS"
    tf32 = "179TFLOPS"
    bf16 = "358TFLOPS"
    fp16 = "358TFLOPS"
  }

  sources = {
    "*"                = "assumption: what is said of Turisini, Amati, Cestari: LEONARDO, arXiv 2307.16885, which was not read"
    memory             = "64 GB, leonardo-supercomputer.cineca.eu/hpc-system"
    compute_capability = "that of the A100 80 GB"
    "peak_flops.tf32"  = "assumption: that of the A100 by 124 multiprocessors for 108"
    "peak_flops.bf16"  = "assumption: that of the A100 by 124 multiprocessors for 108"
    "peak_flops.fp16"  = "assumption: that of the A100 by 124 multiprocessors for 108"
    torch_memory       = "assumption: 0.85 GiB less than the driver reports, as on the A100 80 GB"
  }
}
