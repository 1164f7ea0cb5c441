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

    environment = {
      NCCL_IB_GID_INDEX          = "3"
      NCCL_IB_HCA                = "=mlx5_0,mlx5_1,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9,mlx5_10,mlx5_12,mlx5_13,mlx5_14,mlx5_15,mlx5_16,mlx5_17"
      NCCL_IB_QPS_PER_CONNECTION = "1"
      NCCL_IB_SL                 = "0"
      NCCL_IB_SPLIT_DATA_ON_QPS  = "0"
      NCCL_IB_TC                 = "41"
      NCCL_IB_TIMEOUT            = "22"
      NCCL_IGNORE_CPU_AFFINITY   = "1"
      NCCL_SOCKET_IFNAME         = "eth0"
    }
  }

  sources = {
    "*"                    = "docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm (BM.GPU.H100.8)"
    "network.kind"         = "oracle-quickstart/oci-hpc @420fc61 samples/gpu/nccl_run_allreduce_containers_H100_H200.sbatch: a GID of RoCE"
    "nvlink.bandwidth"     = "stas00/ml-engineering @744d01e network"
    "nvlink.latency"       = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"       = "stas00/ml-engineering @744d01e network"
    "pcie.latency"         = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"      = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.environment"  = "oracle-quickstart/oci-hpc @420fc61 samples/gpu/nccl_run_allreduce_containers_H100_H200.sbatch; on the node itself they stand in /etc/nccl.conf, which a container does not have"
    "network.gpus_per_pod" = "not stated: full bandwidth is assumed everywhere"
  }
}
