# The accelerated partition of BSC: four H100 with 64 GB to a node on InfiniBand NDR200.
cluster "marenostrum5" {
  gpu           = catalog.gpu.h100_64gb
  gpus_per_node = 4
  host_memory   = "512GB"
  cpus_per_node = 80 # cores

  nvlink {
    domain    = 4
    bandwidth = "450GB/s" # per GPU, one direction
    latency   = "1.4us"
  }
  pcie {
    bandwidth = "63GB/s"
    latency   = "1.4us"
  }
  network {
    kind          = "infiniband"
    nics_per_node = 4
    bandwidth     = "200Gb/s" # per NIC, one direction
    latency       = "5us"
  }

  sources = {
    "*"                    = "assumption: bsc.es/supportkc/docs/MareNostrum5/overview, which was not read again"
    "nvlink.bandwidth"     = "assumption: the eighteen links of an H100, six to each neighbour"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
    "network.environment"  = "not stated: no page of the site names variables for NCCL, which finds InfiniBand by itself"
  }
}
