cluster "c" {
  base  = catalog.cluster.dgx_h100
  gpu   = catalog.gpu.h100 # ERROR: unknown-reference at catalog.gpu.h100: The catalogue has no gpu "h100". Did you mean "h100_nvl", "h100_sxm", "h100_64gb", "h100_pcie" or "h100_96gb_500w"?
  nodes = 2
}

job "j" {
  model   = catalog.model.debug
  cluster = cluster.c

  training {
    global_batch_size = "4k" # ERROR: wrong-type at "4k": "global_batch_size" must be a whole number, not the text "4k". Counts are plain numbers, without a unit: write 4e3, or 4096 where k means 1024.
    tokens            = "100B" # ERROR: wrong-type at "100B": "tokens" must be a whole number, not the text "100B". Counts are plain numbers, without a unit: write 100e9.

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "cosine" {
      warmup_steps = "2,000" # ERROR: wrong-type at "2,000": "warmup_steps" must be a whole number, not the text "2,000". Numbers are written without separators: 2000.
    }
    data {
      mock = true
    }
  }
  constraints {
    objective       = "troughput" # ERROR: unknown-value at "troughput": "troughput" is not a value of "objective", which takes "throughput", "memory", "time", "gpu_hours" or "cost". Did you mean "throughput"?
    max_time        = "3d" # ERROR: unknown-argument at max_time: The block constraints has no argument "max_time". It takes memory_headroom, objective, max_training_time, max_gpu_hours, max_cost, max_exposed_communication, min_mfu, nvlink_only, prefer, avoid. Did you mean "max_training_time"?
    max_memory      = "60GB" # ERROR: unknown-argument at max_memory: The block constraints has no argument "max_memory". It takes memory_headroom, objective, max_training_time, max_gpu_hours, max_cost, max_exposed_communication, min_mfu, nvlink_only, prefer, avoid. Did you mean "memory_headroom"?
    min_utilization = 0.4 # ERROR: unknown-argument at min_utilization: The block constraints has no argument "min_utilization". It takes memory_headroom, objective, max_training_time, max_gpu_hours, max_cost, max_exposed_communication, min_mfu, nvlink_only, prefer, avoid. Did you mean "min_mfu"?
    budget          = 1000 # ERROR: unknown-argument at budget: The block constraints has no argument "budget". It takes memory_headroom, objective, max_training_time, max_gpu_hours, max_cost, max_exposed_communication, min_mfu, nvlink_only, prefer, avoid. Did you mean "max_cost"?
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
