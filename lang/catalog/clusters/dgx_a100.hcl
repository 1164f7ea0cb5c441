# DGX A100 with 80 GB GPUs on InfiniBand HDR.
cluster "dgx_a100" {
  gpu                   = catalog.gpu.a100_80gb
  gpus_per_node         = 8
  host_memory           = "2TB"
  host_memory_bandwidth = "409GB/s"
  cpus_per_node         = 128 # cores

  nvlink {
    domain    = 8
    bandwidth = "300GB/s" # per GPU, one direction
    latency   = "2.1us"
  }
  pcie {
    bandwidth = "31GB/s"
    latency   = "2.1us"
  }
  network {
    kind          = "infiniband"
    nics_per_node = 8
    bandwidth     = "200Gb/s" # per NIC, one direction
    latency       = "5us"
    rails         = 8
  }

  sources = {
    "*"                    = "mlcommons/training_results_v2.1 NVIDIA/systems/dgxa100_n256_ngc22.09_pytorch.json"
    host_memory_bandwidth  = "two EPYC 7742 with 204.8 GB/s each (AMD, EPYC 7742 specifications; NVIDIA DGX A100 datasheet)"
    host_memory            = "NVIDIA DGX A100 datasheet"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 15 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309; over 32 DGX A100 github.com/NVIDIA/nccl/issues/652 measures 63 to 71 us, the model gives 65"
    "network.rails"        = "one compute NIC per GPU"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
