# p6-b200.48xlarge: HGX B200 on EFA v4.
cluster "aws_p6_b200" {
  gpu           = catalog.gpu.b200
  gpus_per_node = 8
  host_memory   = "2TiB"
  cpus_per_node = 96 # cores

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
    kind          = "efa"
    nics_per_node = 8
    bandwidth     = "400Gb/s" # per NIC, one direction
    latency       = "27us"

    environment = {
      FI_EFA_USE_HUGE_PAGE = "0"
    }
  }

  sources = {
    "*"                    = "AWS instance tables (aws.amazon.com/ec2/instance-types)"
    cpus_per_node          = "192 vCPUs, two to a core"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 16 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "NVIDIA Blackwell datasheet"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: that of aws_p5, from nccl-tests logs of aws-samples"
    "network.environment"  = "without it a fork of the data loaders can fail for lack of huge pages: aws-samples/awsome-distributed-training efa-cheatsheet.md @7217859"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
