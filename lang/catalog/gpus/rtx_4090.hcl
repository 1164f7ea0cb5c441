# A card for desktops, without NVLink. Its driver lets no GPU read another one's memory (github.com/NVIDIA/nccl/issues/1127): what GPUs of a node exchange goes through the host.
gpu "rtx_4090" {
  memory             = "24564MiB" # as the driver reports it
  torch_memory       = "23.64GiB" # what torch can use of it
  memory_bandwidth   = "1008GB/s"
  compute_capability = "8.9"
  sms                = 128
  power              = "450W"

  peak_flops { # dense
    fp32 = "82.6TFLOPS"
    tf32 = "82.6TFLOPS"
    bf16 = "165.2TFLOPS"
    fp16 = "165.2TFLOPS"
    fp8  = "330.3TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA Ada GPU Architecture whitepaper V2.01, appendix A, as quoted in public tables of specifications; products accumulated in fp32: fp16 accumulates at twice the rate, and no framework trains so"
    memory             = "nvidia-smi output pasted in github.com/RLinf/RLinf/issues/255"
    torch_memory       = "totals in CUDA out-of-memory messages pasted in public issues, such as github.com/ali-vilab/VGen/issues/104"
    sms                = "torch.cuda.get_device_properties pasted in public notes: 128"
    power              = "nvidia-smi output pasted in github.com/RLinf/RLinf/issues/255"
    compute_capability = "NVIDIA CUDA GPU table"
    "peak_flops.tf32"  = "assumption: half the 16-bit rate"
    "peak_flops.fp8"   = "assumption: twice the 16-bit rate"
  }
}
