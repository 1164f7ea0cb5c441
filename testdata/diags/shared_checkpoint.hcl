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
    checkpoint {
      path = "/checkpoints"
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
job "b" { # ERROR: shared-checkpoint at "b": a and b would both save to /checkpoints/megatron, and each would remove or continue the other's checkpoints. Give one of them a path of its own.
  base    = job.a
  without = ["backend.torchtitan"]
}
job "c" {
  for_each = toset(["x", "y"])
  base     = job.a
}
