# ERROR: unknown-backend: No job has a block backend "torchtitan" { version = … }. Add one, or ask for another backend.
# ARGS: --backend torchtitan
job "llama" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
