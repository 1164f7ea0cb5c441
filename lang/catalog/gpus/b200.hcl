# The 1,000 W part of HGX and DGX boards; 2,500 TFLOPS bf16 is the 1,200 W GB200.
gpu "b200" {
  memory             = "183359MiB" # as the driver reports it
  torch_memory       = "178.35GiB" # what torch can use of it
  memory_bandwidth   = "7.7TB/s"
  compute_capability = "10.0"
  sms                = 148
  power              = "1000W"

  peak_flops { # dense
    fp32 = "75TFLOPS"
    tf32 = "1100TFLOPS"
    bf16 = "2250TFLOPS"
    fp16 = "2250TFLOPS"
    fp8  = "4500TFLOPS"
    fp4  = "9000TFLOPS"
  }

  sources = {
    "*"               = "NVIDIA Blackwell datasheet (HGX board with sparsity, halved and divided by 8)"
    memory            = "nvidia-smi output pasted in public issues"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues"
    memory_bandwidth  = "NVIDIA Blackwell datasheet; github.com/pytorch/ao/pull/4002 (7,680 bit × 3,996 MHz × 2); 8.0 on the DGX page"
    "peak_flops.bf16" = "pytorch/torchtitan tools/utils.py @b5bcd76; ai-dynamo/aiconfigurator systems/*.yaml @095f58a; stas00/ml-engineering @744d01e"
    "peak_flops.fp4"  = "pytorch/ao roofline_utils.py @36027d8; 10,000 for nvfp4 in stas00/ml-engineering @744d01e"
    sms               = "chipsandcheese.com/p/nvidias-b200-keeping-the-cuda-juggernaut"
    power             = "ai-dynamo/aiconfigurator systems/*.yaml @095f58a; nvidia-smi output pasted in public issues"
  }
}
