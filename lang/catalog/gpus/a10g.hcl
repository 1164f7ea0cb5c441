# The card of AWS's G5 instances, without NVLink. Not the A10, whose tensor cores are faster and whose other rates are slower.
gpu "a10g" {
  memory             = "23028MiB" # as the driver reports it
  torch_memory       = "22.06GiB" # what torch can use of it
  memory_bandwidth   = "600GB/s"
  compute_capability = "8.6"
  sms                = 80
  power              = "300W"

  peak_flops { # dense
    fp32 = "35TFLOPS"
    tf32 = "35TFLOPS"
    bf16 = "70TFLOPS"
    fp16 = "70TFLOPS"
  }

  sources = {
    "*"                = "NVIDIA's datasheet of the A10G for AWS, 2022-02-17 (d1.awsstatic.com), as quoted in public tables of specifications"
    memory             = "nvidia-smi output pasted in public repositories, driver 595.91"
    torch_memory       = "22,587 MiB in torch.cuda.get_device_properties, TorchCodec's tutorial on CUDA decoding; 22.20 GiB with older drivers"
    sms                = "torch.cuda.get_device_properties, TorchCodec's tutorial on CUDA decoding"
    compute_capability = "torch.cuda.get_device_properties, TorchCodec's tutorial on CUDA decoding"
    "peak_flops.bf16"  = "the rate of fp16, as in all GPUs of the generation"
  }
}
