gpu "a" {
  base               = catalog.gpu.h100_sxm
  torch_memory       = "90GiB" # ERROR: inconsistent-cluster at "90GiB": torch_memory = 90.0 GiB, what torch can use, is more than memory = 79.6 GiB. State both: torch_memory is about 1 GiB less.
  compute_capability = "hopper" # ERROR: invalid-value at "hopper": "hopper" is not a compute capability, such as "9.0" for Hopper.
}

gpu "b" {
  memory           = "80GiB"
  memory_bandwidth = "3TB/s"

  peak_flops { # ERROR: missing-argument at peak_flops: The block peak_flops states no rate, so nothing could run. Give at least bf16.
  }
}

cluster "a" {
  base = catalog.cluster.single_gpu
  gpu  = gpu.a
}

cluster "b" {
  base = catalog.cluster.single_gpu
  gpu  = gpu.b
}

job "a" {
  model   = catalog.model.debug
  cluster = cluster.a

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"

      source "a" {
        path = "/a"
      }
      validation { # ERROR: missing-argument at validation: Nothing is set aside for validation. Set "path" here, or split in the data block.
        interval = 100
        steps    = 5
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "b" {
  model   = catalog.model.debug
  cluster = cluster.b

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
