# p6e-gb200.36xlarge: trays of a GB200 NVL72 rack on EFA.
cluster "aws_p6e_gb200" {
  gpu                   = catalog.gpu.gb200
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
    kind          = "efa"
    nics_per_node = 4
    bandwidth     = "400Gb/s" # per NIC, one direction
    latency       = "27us"

    environment = {
      FI_EFA_USE_HUGE_PAGE = "0"
    }
  }

  sources = {
    "*"                     = "AWS instance tables (aws.amazon.com/ec2/instance-types)"
    cpus_per_node           = "144 vCPUs of Grace, one to a core"
    "network.bandwidth"     = "28,800 Gb/s of a rack over its 18 trays; one table has twice that"
    "network.nics_per_node" = "assumption: one adapter to a GPU"
    host_memory_bandwidth   = "two Grace CPUs with 480 GB of LPDDR5X at 384 GB/s each (NVIDIA GH200 datasheet)"
    "nvlink.bandwidth"      = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"        = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 16 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"        = "NVLink-C2C: 900 GB/s of a Grace CPU in both directions (NVIDIA Blackwell datasheet; verda.com/blog/gb300-nvl72-architecture), half of it one way, for two GPUs"
    "pcie.latency"          = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"       = "assumption: that of aws_p5, from nccl-tests logs of aws-samples"
    "network.environment"   = "without it a fork of the data loaders can fail for lack of huge pages: aws-samples/awsome-distributed-training efa-cheatsheet.md @7217859"
    "network.gpus_per_pod"  = "not stated: full bandwidth is assumed everywhere"
  }
}
