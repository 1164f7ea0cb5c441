# A card of up to 600 W with GDDR7, without NVLink. Transformer Engine has its 4-bit and block-scaled formats for 10.x only.
gpu "rtx_pro_6000_server" {
  memory             = "97887MiB" # as the driver reports it
  torch_memory       = "94.89GiB" # what torch can use of it
  memory_bandwidth   = "1597GB/s"
  compute_capability = "12.0"
  sms                = 188
  power              = "600W"

  peak_flops { # dense
    fp32 = "120TFLOPS"
    tf32 = "250TFLOPS"
    bf16 = "500TFLOPS"
    fp16 = "500TFLOPS"
    fp8  = "1000TFLOPS"
  }

  sources = {
    "*"                = "assumption: NVIDIA's datasheet of the server edition, which was not read again; the workstation edition has 1,792 GB/s and 125 TFLOPS"
    memory             = "nvidia-smi output of the workstation edition, MarcoPizeta/flash-next-rtxpro6000-bench HARDWARE.md"
    sms                = "24,064 FP32 cores, 128 to a multiprocessor"
    compute_capability = "antirez/ds4 pull request 256 (sm_120)"
    "peak_flops.tf32"  = "assumption: a part of the 4-bit rate (4 PFLOPS with sparsity) as in other GPUs of the generation: half, a quarter, an eighth for 8, 16 and 19 bits"
    "peak_flops.bf16"  = "assumption: a part of the 4-bit rate (4 PFLOPS with sparsity) as in other GPUs of the generation: half, a quarter, an eighth for 8, 16 and 19 bits"
    "peak_flops.fp16"  = "assumption: a part of the 4-bit rate (4 PFLOPS with sparsity) as in other GPUs of the generation: half, a quarter, an eighth for 8, 16 and 19 bits"
    "peak_flops.fp8"   = "assumption: a part of the 4-bit rate (4 PFLOPS with sparsity) as in other GPUs of the generation: half, a quarter, an eighth for 8, 16 and 19 bits"
    torch_memory       = "assumption: 0.70 GiB less than the driver reports, as on the B200"
  }
}
