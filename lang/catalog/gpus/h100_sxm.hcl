gpu "h100_sxm" {
  memory             = "81559MiB" # as the driver reports it
  torch_memory       = "79.18GiB" # what torch can use of it
  memory_bandwidth   = "3.35TB/s"
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
    "*"               = "NVIDIA H100 datasheet (tensor rates with sparsity, halved); glennklockwood.com/garden/processors/h100"
    memory            = "mlcommons/training_results_v4.0 NVIDIA/systems; github.com/modal-labs/modal-client/pull/2797"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues (79.10 to 79.25)"
    memory_bandwidth  = "NVIDIA H100 datasheet; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.bf16" = "NVIDIA H100 datasheet; pytorch/torchtitan tools/utils.py @b5bcd76"
    "peak_flops.fp8"  = "NVIDIA H100 datasheet; pytorch/ao roofline_utils.py @36027d8"
    sms               = "stas00/ml-engineering @744d01e compute/accelerator"
    power             = "NVIDIA H100 datasheet; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
  }
}
