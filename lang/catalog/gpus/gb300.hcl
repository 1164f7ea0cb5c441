# One of the two GPUs beside a Grace CPU.
gpu "gb300" {
  memory             = "284208MiB" # as the driver reports it
  torch_memory       = "276.5GiB"  # what torch can use of it
  memory_bandwidth   = "8TB/s"
  compute_capability = "10.3"
  sms                = 152
  power              = "1400W"

  peak_flops { # dense
    fp32 = "80TFLOPS"
    tf32 = "1250TFLOPS"
    bf16 = "2500TFLOPS"
    fp16 = "2500TFLOPS"
    fp8  = "5000TFLOPS"
    fp4  = "15000TFLOPS"
  }

  sources = {
    "*"               = "NVIDIA Blackwell Ultra datasheet (October 2025)"
    memory            = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; mlcommons/training_results_v5.1 NVIDIA/systems"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues"
    memory_bandwidth  = "NVIDIA Blackwell Ultra datasheet (October 2025); ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.bf16" = "NVIDIA GB300 NVL72 product page (360 PFLOPS with sparsity / 72 / 2); pytorch/torchtitan tools/utils.py @b5bcd76"
    "peak_flops.fp8"  = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; stas00/ml-engineering @744d01e"
    "peak_flops.fp4"  = "NVIDIA GB300 NVL72 product page (1,080 PFLOPS dense / 72); developer.nvidia.com/blog/inside-nvidia-blackwell-ultra-the-chip-powering-the-ai-factory-era (15 PFLOPS dense); ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.tf32" = "stas00/ml-engineering @744d01e"
    sms               = "torch device-property dumps in public issues"
    power             = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; nvidia-smi output pasted in public issues"
  }
}
