# DGX H200 on InfiniBand NDR: a DGX H100 with larger GPUs.
cluster "dgx_h200" {
  gpu                   = catalog.gpu.h200
  gpus_per_node         = 8
  host_memory           = "2TB"
  host_memory_bandwidth = "614GB/s"
  cpus_per_node         = 112 # cores

  nvlink {
    domain    = 8
    bandwidth = "450GB/s" # per GPU, one direction
    latency   = "1.4us"
  }
  pcie {
    bandwidth = "63GB/s"
    latency   = "1.4us"
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
    "*"                        = "docs.nvidia.com/dgx/dgxh100-user-guide"
    host_memory_bandwidth      = "two Xeon Platinum 8480C with eight channels of DDR5-4800 each (Intel, 8480+ specifications; docs.nvidia.com/dgx/dgxh100-user-guide, DGX H100/H200)"
    "nvlink.bandwidth"         = "stas00/ml-engineering @744d01e network; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "nvlink.latency"           = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of the H100"
    "pcie.bandwidth"           = "stas00/ml-engineering @744d01e network"
    "pcie.latency"             = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"          = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.rails"            = "DGX SuperPOD H100 reference architecture RA-11333-001 (rail-optimised full fat tree, 32 nodes to a scalable unit)"
    "network.gpus_per_pod"     = "DGX SuperPOD H100 reference architecture RA-11333-001 (rail-optimised full fat tree, 32 nodes to a scalable unit)"
    "network.oversubscription" = "DGX SuperPOD H100 reference architecture RA-11333-001 (rail-optimised full fat tree, 32 nodes to a scalable unit)"
  }
}
