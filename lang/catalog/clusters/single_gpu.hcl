# One H100 for trials.
cluster "single_gpu" {
  gpu           = catalog.gpu.h100_sxm
  nodes         = 1
  gpus_per_node = 1

  pcie {
    bandwidth = "63GB/s"
    latency   = "1.4us"
  }

  sources = {
    "*"              = "a definition of this catalogue, not a measured machine"
    "pcie.bandwidth" = "stas00/ml-engineering @744d01e network"
    "pcie.latency"   = "assumption: one PCIe hop costs what an NVLink hop does"
  }
}
