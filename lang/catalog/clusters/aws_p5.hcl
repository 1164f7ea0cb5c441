# p5.48xlarge: HGX H100 on EFA.
cluster "aws_p5" {
  gpu           = catalog.gpu.h100_sxm
  gpus_per_node = 8
  host_memory   = "2TiB"
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
    kind          = "efa"
    nics_per_node = 32
    bandwidth     = "100Gb/s" # per NIC, one direction
    latency       = "27us"

    environment = {
      FI_EFA_USE_HUGE_PAGE = "0"
    }
  }

  sources = {
    "*"                     = "AWS instance tables (aws.amazon.com/ec2/instance-types/p5)"
    cpus_per_node           = "aws-samples/awsome-distributed-training tips-and-tricks.md @7217859 (96 cores, 192 vCPU)"
    "nvlink.bandwidth"      = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"        = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps"
    "pcie.bandwidth"        = "stas00/ml-engineering @744d01e network"
    "pcie.latency"          = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.nics_per_node" = "meta-pytorch/torchx named_resources_aws.py @cafea3f"
    "network.bandwidth"     = "aws-samples/awsome-distributed-training efa-cheatsheet.md @7217859"
    "network.latency"       = "assumption: the all-reduce of 1 KiB over two p5 takes 65 to 75 us (nccl-tests logs of aws-samples); what NCCL's tree model leaves for one hop"
    "network.environment"   = "without it a fork of the data loaders can fail for lack of huge pages: aws-samples/awsome-distributed-training efa-cheatsheet.md @7217859"
    "network.gpus_per_pod"  = "not stated: full bandwidth is assumed everywhere, to 20,000 GPUs"
  }
}
