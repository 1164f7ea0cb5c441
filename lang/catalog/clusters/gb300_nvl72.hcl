# GB300 NVL72: 18 trays of 4 GPUs share one NVLink domain; nodes are trays.
cluster "gb300_nvl72" {
  gpu                   = catalog.gpu.gb300
  gpus_per_node         = 4
  host_memory           = "960GiB"
  host_memory_bandwidth = "768GB/s"
  cpus_per_node         = 144 # cores

  nvlink {
    domain    = 72
    bandwidth = "900GB/s" # per GPU, one direction
    latency   = "2.3us"
  }
  pcie {
    bandwidth = "225GB/s" # NVLink-C2C
    latency   = "2.3us"
  }
  network {
    kind          = "infiniband"
    nics_per_node = 4
    bandwidth     = "800Gb/s" # per NIC, one direction
    latency       = "5us"
    rails         = 4
  }

  sources = {
    "*"                        = "docs.nvidia.com/enterprise-reference-architectures/nvl72-ai-factory"
    cpus_per_node              = "mlcommons/training_results_v5.1 NVIDIA/systems"
    host_memory_bandwidth      = "two Grace CPUs with 480 GB of LPDDR5X at 384 GB/s each (NVIDIA GH200 datasheet)"
    host_memory                = "Grace CPUs of a tray: CoreWeave 960 GiB; 2.0 TB in MLPerf system files includes the HBM"
    "nvlink.domain"            = "one rack is one NVLink domain: 18 trays of 4 GPUs"
    "nvlink.bandwidth"         = "stas00/ml-engineering @744d01e network; ai-dynamo/aiconfigurator systems/*.yaml @095f58a"
    "nvlink.latency"           = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 16 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of the B200"
    "pcie.bandwidth"           = "NVLink-C2C: 900 GB/s of a Grace CPU in both directions (NVIDIA Blackwell datasheet; verda.com/blog/gb300-nvl72-architecture), half of it one way, for two GPUs"
    "pcie.latency"             = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.bandwidth"        = "docs.nvidia.com/enterprise-reference-architectures/nvl72-ai-factory; 400 on Azure ND GB300 v6"
    "network.latency"          = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.oversubscription" = "docs.nvidia.com/enterprise-reference-architectures/nvl72-ai-factory (non-blocking, rail-optimised)"
  }
}
