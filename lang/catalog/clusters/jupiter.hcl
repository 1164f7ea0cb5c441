# The Booster of JSC: four GH200 of 680 W to a node on InfiniBand NDR200.
cluster "jupiter" {
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
    kind             = "infiniband"
    nics_per_node    = 4
    bandwidth        = "200Gb/s" # per NIC, one direction
    latency          = "5us"
    topology         = "dragonfly"
    gpus_per_pod     = 960
    oversubscription = 1
  }

  sources = {
    "*"                        = "apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    gpu                        = "680 W for a module, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    host_memory_bandwidth      = "four Grace CPUs with 120 GB of LPDDR5X at 512 GB/s each (NVIDIA GH200 datasheet)"
    host_memory                = "four of 120 GB, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    cpus_per_node              = "four of 72 cores, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "nvlink.bandwidth"         = "150 GB/s to each of three neighbours, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "nvlink.latency"           = "assumption: all-gather of 1 KiB or less over 8 GPUs takes 10 us (ai-dynamo/aiconfigurator NCCL tables @095f58a), divided by its 7 steps; of DGX nodes"
    "pcie.bandwidth"           = "NVLink-C2C, half of 900 GB/s in both directions: apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "pcie.latency"             = "assumption: one PCIe hop costs what an NVLink hop does"
    "network.latency"          = "assumption: one network hop of small messages in the cost model of NCCL (src/graph/tuning.cc, tree); with it the all-reduce of 1 KiB over 4 DGX H100 takes 35 us, as measured in github.com/NVIDIA/nccl-tests/issues/309"
    "network.topology"         = "a Dragonfly of 240 nodes to a group, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "network.gpus_per_pod"     = "240 nodes to a Dragonfly group, apps.fz-juelich.de/jsc/hps/jupiter/configuration.html"
    "network.oversubscription" = "not stated: full bandwidth is assumed between groups"
    "network.environment"      = "not stated: no page of the site names variables for NCCL, which finds InfiniBand by itself"
  }
}
