# The cluster that DeepSeek-V3 was trained on. CPUs and host memory are not published.
cluster "h800_ib" {
  gpu           = catalog.gpu.h800
  gpus_per_node = 8

  nvlink {
    domain    = 8
    bandwidth = "200GB/s" # per GPU, one direction
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
    rails         = 8
  }

  sources = {
    "*"                = "DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.1 and 3.2"
    "nvlink.bandwidth" = "H800 specification; the report counts on 160 GB/s in practice"
    "nvlink.latency"   = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of the H100"
    "pcie.bandwidth"   = "stas00/ml-engineering @744d01e network"
    "pcie.latency"     = "assumption: one PCIe hop costs what an NVLink hop does"
    network            = "DeepSeek-V3 hardware report, arXiv:2505.09343 (8 planes, two-layer fat tree for 16,384 GPUs)"
    "network.latency"  = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
  }
}
