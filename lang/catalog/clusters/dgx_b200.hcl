# DGX B200 on InfiniBand NDR (ConnectX-7).
cluster "dgx_b200" {
  gpu                   = catalog.gpu.b200
  gpus_per_node         = 8
  host_memory           = "2TB"
  host_memory_bandwidth = "716GB/s"
  cpus_per_node         = 112 # cores

  nvlink {
    domain    = 8
    bandwidth = "900GB/s" # per GPU, one direction
    latency   = "2.3us"
  }
  pcie {
    bandwidth = "64GB/s"
    latency   = "2.3us"
  }
  network {
    kind             = "infiniband"
    nics_per_node    = 8
    bandwidth        = "400Gb/s" # per NIC, one direction
    latency          = "5us"
    rails            = 8
    gpus_per_pod     = 256
    oversubscription = 1
  }

  sources = {
    "*"                        = "docs.nvidia.com/dgx/dgxb200-user-guide"
    host_memory_bandwidth      = "two Xeon Platinum 8570 with eight channels of DDR5-5600 each (Intel, 8570 specifications; docs.nvidia.com/dgx/dgxb200-user-guide)"
    host_memory                = "docs.nvidia.com/dgx/dgxb200-user-guide (up to 4 TB)"
    "nvlink.bandwidth"         = "stas00/ml-engineering @744d01e network; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "nvlink.latency"           = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 16 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps"
    "pcie.bandwidth"           = "NVIDIA Blackwell datasheet"
    "pcie.latency"             = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"          = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.rails"            = "docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200"
    "network.gpus_per_pod"     = "docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200 (32 nodes to a scalable unit)"
    "network.oversubscription" = "docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200 (512 cables to the leaves, 512 to the spines of two units)"
  }
}
