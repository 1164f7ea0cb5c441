# What does nothing beside the rest of a model.
model "m" {
  base = catalog.model.mixtral_8x7b

  moe {
    router {
      group_top_k = 2 # ERROR: inapplicable-argument at 2: "group_top_k" has no effect. Without groups of experts a token may use all. Remove it.
    }
  }
}

job "j" {
  model   = model.m
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
