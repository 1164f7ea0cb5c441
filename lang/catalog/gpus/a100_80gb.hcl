# SXM.
gpu "a100_80gb" {
  memory             = "81920MiB" # as the driver reports it
  torch_memory       = "79.15GiB" # what torch can use of it
  memory_bandwidth   = "2039GB/s"
  compute_capability = "8.0"
  sms                = 108
  power              = "400W"

  peak_flops { # dense
    fp32 = "19.5TFLOPS"
    tf32 = "156TFLOPS"
    bf16 = "312TFLOPS"
    fp16 = "312TFLOPS"
  }

  sources = {
    "*"               = "glennklockwood.com/garden/processors/A100"
    memory            = "github.com/modal-labs/modal-client/pull/2797"
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues; stas00/ml-engineering @744d01e training/performance"
    memory_bandwidth  = "glennklockwood.com/garden/processors/A100; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "peak_flops.bf16" = "glennklockwood.com/garden/processors/A100; pytorch/torchtitan tools/utils.py @b5bcd76"
  }
}
