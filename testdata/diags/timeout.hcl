job "a" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
    timeout {
      collective = "1500ms" # ERROR: invalid-value at "1500ms": 1.5s is no whole number of seconds. Write one such as "10m" or "90s".
      first_step = "1s" # ERROR: inconsistent-training at "1s": The first step connects all ranks and loads, so it needs no less time than a later one: 1s is shorter than collective, 1.5s.
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
