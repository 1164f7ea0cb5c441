# ERROR: unknown-site: There is no site "alp". Did you mean "alps"?
# ARGS: --site alp
site "alps" {
}
job "a" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
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
