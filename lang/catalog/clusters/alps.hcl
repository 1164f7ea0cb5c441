# The GH200 nodes of CSCS on Slingshot 11.
cluster "alps" {
  gpu                   = catalog.gpu.gh200_680w
  gpus_per_node         = 4
  host_memory           = "480GB"
  host_memory_bandwidth = "2048GB/s"
  cpus_per_node         = 288 # cores

  nvlink {
    domain    = 4
    bandwidth = "450GB/s" # per GPU, one direction
    latency   = "1.4us"
  }
  pcie {
    bandwidth = "450GB/s"
    latency   = "1.4us"
  }
  network {
    kind          = "slingshot"
    nics_per_node = 4
    bandwidth     = "200Gb/s" # per NIC, one direction
    latency       = "5us"

    environment = {
      FI_CXI_DEFAULT_CQ_SIZE       = "131072"
      FI_CXI_DISABLE_HOST_REGISTER = "1"
      FI_MR_CACHE_MONITOR          = "userfaultfd"
      NCCL_NET                     = "AWS Libfabric"
      NCCL_NET_GDR_LEVEL           = "PHB"
    }
  }

  sources = {
    "*"                    = "docs.cscs.ch/alps/hardware; eth-cscs/cscs-docs"
    gpu                    = "as on JUPITER: 10,400 modules draw 7,124 kW in Linpack with all else (TOP500, November 2024), 685 W each"
    host_memory_bandwidth  = "four Grace CPUs with 120 GB of LPDDR5X at 512 GB/s each (NVIDIA GH200 datasheet)"
    host_memory            = "four of 120 GB, as on JUPITER"
    cpus_per_node          = "four of 72 cores, as on JUPITER"
    "network.bandwidth"    = "Slingshot 11, 200 Gb/s an adapter; one to a GPU"
    "nvlink.bandwidth"     = "150 GB/s to each of three neighbours, as on JUPITER: apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "as on JUPITER: NVLink-C2C, half of 900 GB/s in both directions: apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.environment"  = "docs.cscs.ch/software/communication/nccl (eth-cscs/cscs-docs pull request 75): without the plugin NCCL falls back to TCP"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
