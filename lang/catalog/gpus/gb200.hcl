# One of the two GPUs beside a Grace CPU.
gpu "gb200" {
  memory             = "189471MiB" # as the driver reports it
  torch_memory       = "184.31GiB" # what torch can use of it
  memory_bandwidth   = "8TB/s"
  compute_capability = "10.0"
  sms                = 152
  power              = "1200W"

  peak_flops { # dense
    fp32 = "80TFLOPS"
    tf32 = "1250TFLOPS"
    bf16 = "2500TFLOPS"
    fp16 = "2500TFLOPS"
    fp8  = "5000TFLOPS"
    fp4  = "10000TFLOPS"
  }

  sources = {
    "*"               = "NVIDIA Blackwell datasheet (superchip, halved)"
    memory            = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; mlcommons/training_results_v5.1 NVIDIA/systems"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues (187.28 in one log)"
    memory_bandwidth  = "NVIDIA Blackwell datasheet; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.bf16" = "NVIDIA GB200 NVL72 product page (360 PFLOPS with sparsity / 72 / 2); pytorch/torchtitan tools/utils.py @b5bcd76; 2,250 in pytorch/ao roofline_utils.py @36027d8"
    "peak_flops.fp8"  = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; stas00/ml-engineering @744d01e"
    "peak_flops.fp4"  = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; stas00/ml-engineering @744d01e"
    "peak_flops.tf32" = "stas00/ml-engineering @744d01e"
    sms               = "torch device-property dumps in public issues"
    power             = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; nvidia-smi output pasted in public issues"
  }
}
