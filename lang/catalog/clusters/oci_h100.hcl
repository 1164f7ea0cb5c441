# BM.GPU.H100.8: HGX H100 on RoCE, two adapters to a GPU.
cluster "oci_h100" {
  gpu           = catalog.gpu.h100_sxm
  gpus_per_node = 8
  host_memory   = "2048GB"
  cpus_per_node = 112 # cores

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
    kind          = "roce"
    nics_per_node = 16
    bandwidth     = "200Gb/s" # per NIC, one direction
    latency       = "5us"
  }

  sources = {
    "*"                    = "docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm (BM.GPU.H100.8)"
    "network.kind"         = "assumption: the page says RDMA only"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
