# The Booster of CINECA: four A100 with 64 GB to a node on InfiniBand HDR.
cluster "leonardo" {
  gpu           = catalog.gpu.a100_64gb
  gpus_per_node = 4
  host_memory   = "512GB"
  cpus_per_node = 32 # cores

  nvlink {
    domain    = 4
    bandwidth = "300GB/s" # per GPU, one direction
    latency   = "2.1us"
  }
  pcie {
    bandwidth = "31GB/s"
    latency   = "2.1us"
  }
  network {
    kind          = "infiniband"
    nics_per_node = 4
    bandwidth     = "100Gb/s" # per NIC, one direction
    latency       = "5us"
  }

  sources = {
    "*"                     = "leonardo-supercomputer.cineca.eu/hpc-system"
    "network.nics_per_node" = "two dual-port adapters, leonardo-supercomputer.cineca.eu/hpc-system"
    "network.bandwidth"     = "400 Gb/s of a node over its four ports, leonardo-supercomputer.cineca.eu/hpc-system"
    "nvlink.bandwidth"      = "assumption: the twelve links of an A100, four to each neighbour"
    "nvlink.latency"        = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 15 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"        = "stas00/ml-engineering @744d01e network"
    "pcie.latency"          = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"       = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.gpus_per_pod"  = "not stated: full bandwidth is assumed everywhere"
    "network.environment"   = "not stated: no page of the site names variables for NCCL, which finds InfiniBand by itself"
  }
}
