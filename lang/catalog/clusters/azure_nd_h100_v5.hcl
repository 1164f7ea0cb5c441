# ND H100 v5: HGX H100 on InfiniBand NDR.
cluster "azure_nd_h100_v5" {
  gpu           = catalog.gpu.h100_sxm
  gpus_per_node = 8
  host_memory   = "1900GiB"
  cpus_per_node = 96 # cores

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
    kind          = "infiniband"
    nics_per_node = 8
    bandwidth     = "400Gb/s" # per NIC, one direction
    latency       = "5us"

    environment = {
      CUDA_DEVICE_ORDER            = "PCI_BUS_ID"
      NCCL_IB_PCI_RELAXED_ORDERING = "1"
      NCCL_SOCKET_IFNAME           = "eth0"
      NCCL_TOPO_FILE               = "/opt/microsoft/ndv5-topo.xml"
    }
  }

  sources = {
    "*"                    = "glennklockwood.com/garden/nodes/azure-nd-h100-v5"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.environment"  = "Azure/ai-infrastructure-on-azure @a01b073 examples/megatron-lm; the topology, which virtual machines do not show, is that of Azure/azhpc-images"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
