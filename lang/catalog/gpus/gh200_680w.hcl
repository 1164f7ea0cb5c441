# The 96 GB version, in modules of 680 W, four to a node (JUPITER, Alps). Power is what is left for the GPU.
# At that power it does not hold the peaks.
gpu "gh200_680w" {
  memory             = "97871MiB" # as the driver reports it
  torch_memory       = "95.0GiB"  # what torch can use of it
  memory_bandwidth   = "4TB/s"
  compute_capability = "9.0"
  sms                = 132
  power              = "580W"

  peak_flops { # dense
    fp32 = "67TFLOPS"
    tf32 = "494TFLOPS"
    bf16 = "990TFLOPS"
    fp16 = "990TFLOPS"
    fp8  = "1979TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA GH200 datasheet, dense column"
    memory             = "nvidia-smi output pasted in public issues"
    torch_memory       = "totals in CUDA out-of-memory messages pasted in public issues of 96 GB parts of the generation"
    sms                = "torch device-property dumps in public issues"
    compute_capability = "that of the H100 SXM, not read for this part"
    power              = "680 W for the module (apps.fz-juelich.de/jsc/hps/jupiter/configuration.html; nvidia-smi output pasted in public issues), which Grace CPU and its memory share (GH200 datasheet: CPU, GPU and memory), less 100 W for these: assumed, after steps on Alps took as long as on 580 to 620 W (testdata/measured/swiss_gh200.jsonl)"
  }
}
