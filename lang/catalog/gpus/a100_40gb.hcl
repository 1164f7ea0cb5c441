# SXM.
gpu "a100_40gb" {
  memory             = "40960MiB" # as the driver reports it
  torch_memory       = "39.49GiB" # what torch can use of it
  memory_bandwidth   = "1555GB/s"
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
    torch_memory      = "totals in CUDA out-of-memory messages pasted in public issues (39.38 to 39.56 by driver)"
    "peak_flops.bf16" = "glennklockwood.com/garden/processors/A100; pytorch/torchtitan tools/utils.py @b5bcd76"
  }
}
