# a3-ultragpu-8g: HGX H200 on RoCE, whose variables the node sets (/usr/local/gib/scripts/set_nccl_env.sh).
cluster "gcp_a3_ultra" {
  gpu           = catalog.gpu.h200
  gpus_per_node = 8
  host_memory   = "2952GB"
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
    nics_per_node = 8
    bandwidth     = "400Gb/s" # per NIC, one direction
    latency       = "5us"
  }

  sources = {
    "*"                    = "docs.cloud.google.com GPU machine tables and gpu-network-bandwidth; GoogleCloudPlatform/cluster-toolkit @1047080"
    cpus_per_node          = "224 vCPUs, two to a core"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
    "network.environment"  = "none here: they belong to the version of Google's plugin on the node, whose /usr/local/gib/scripts/set_nccl_env.sh slurm.setup sources (GoogleCloudPlatform/cluster-toolkit @1047080; NVIDIA/aicr pull request 422: copied values broke with the next version)"
  }
}
