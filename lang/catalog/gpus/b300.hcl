gpu "b300" {
  memory             = "275040MiB" # as the driver reports it
  torch_memory       = "267.69GiB" # what torch can use of it
  memory_bandwidth   = "7.7TB/s"
  compute_capability = "10.3"
  sms                = 148
  power              = "1100W"

  peak_flops { # dense
    fp32 = "75TFLOPS"
    tf32 = "1100TFLOPS"
    bf16 = "2250TFLOPS"
    fp16 = "2250TFLOPS"
    fp8  = "4500TFLOPS"
    fp4  = "14000TFLOPS"
  }

  sources = {
    "*"               = "NVIDIA Blackwell Ultra datasheet (October 2025)"
    memory            = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; mlcommons/training_results_v6.0 systems"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues"
    memory_bandwidth  = "NVIDIA Blackwell Ultra datasheet (October 2025); 8.0 in stas00/ml-engineering @744d01e"
    "peak_flops.bf16" = "pytorch/ao roofline_utils.py @36027d8; ai-dynamo/aiconfigurator systems/*.yaml @095f58a; pytorch/torchtitan tools/utils.py @b5bcd76"
    "peak_flops.fp4"  = "NVIDIA Blackwell Ultra datasheet (October 2025); ai-dynamo/aiconfigurator systems/*.yaml @095f58a; pytorch/ao roofline_utils.py @36027d8; not half of its sparse figure; 14 PFLOPS beside 15 of the GB300 in verda.com/blog/gb300-nvl72-architecture, too; 13,500 is an eighth of a board's rounded 108 PFLOPS"
    sms               = "torch device-property dumps in public issues"
    power             = "NVIDIA Blackwell Ultra datasheet (October 2025); nvidia-smi output pasted in public issues"
  }
}
