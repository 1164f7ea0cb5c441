cluster "one" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

job "fp8" {
  model   = catalog.model.debug
  cluster = cluster.one

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "fp8"

    fp8 { # ERROR: inapplicable-argument at fp8: The fp8 block has no effect with precision "bf16". Set precision = "fp8", "mxfp8" or "nvfp4", or remove the block. It is so in job "bf16", where what a base has can be overridden, or left out by without = […].
      bf16_first_layers = 1
    }
    optimizer "adamw" {
      learning_rate = 3e-4
    }
    data {
      mock = true
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
  }
}

job "bf16" {
  base = job.fp8

  training {
    precision = "bf16"
  }
}
