# DGX B300 on InfiniBand XDR (ConnectX-8).
cluster "dgx_b300" {
  gpu           = catalog.gpu.b300
  gpus_per_node = 8
  host_memory   = "2TB"
  cpus_per_node = 128 # cores

  nvlink {
    domain    = 8
    bandwidth = "900GB/s" # per GPU, one direction
    latency   = "2.3us"
  }
  pcie {
    bandwidth = "128GB/s"
    latency   = "2.3us"
  }
  network {
    kind             = "infiniband"
    nics_per_node    = 8
    bandwidth        = "800Gb/s" # per NIC, one direction
    latency          = "5us"
    rails            = 8
    gpus_per_pod     = 576
    oversubscription = 1
  }

  sources = {
    "*"                    = "docs.nvidia.com/dgx-superpod/reference-architecture/scalable-infrastructure-b300-xdr"
    host_memory            = "NVIDIA DGX B300 datasheet (up to 4 TB)"
    cpus_per_node          = "two Xeon 6776P of 64 cores, NVIDIA DGX B300 datasheet"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 16 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of the B200"
    "pcie.bandwidth"       = "NVIDIA Blackwell Ultra datasheet (October 2025) (PCIe 6)"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.gpus_per_pod" = "docs.nvidia.com/dgx-superpod/reference-architecture/scalable-infrastructure-b300-xdr (72 nodes to a scalable unit; 64 with Ethernet)"
  }
}
