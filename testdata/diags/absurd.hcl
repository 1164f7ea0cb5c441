model "a" { # ERROR: inconsistent-model at "a": These sizes make about 5e+19 parameters. One of layers, hidden_size, ffn_hidden_size or experts must be wrong.
  base        = catalog.model.mixtral_8x7b
  hidden_size = 200000
  layers      = 9000

  moe {
    experts                = 10000
    expert_ffn_hidden_size = 1000000
  }
}

model "b" {
  base            = catalog.model.debug
  layers          = 100000 # ERROR: out-of-range at 100000: "layers" must be at least 1 and at most 10000, not 100000.
  sequence_length = 100000000
}

model "c" {
  base            = catalog.model.debug
  sequence_length = 100000000
}

job "a" {
  model   = model.a
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    tokens            = 1e18 # ERROR: out-of-range at 1e18: "tokens" must be at least 1 and at most 1e+17, not 1e+18.

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

job "b" {
  model   = model.c
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 100000 # ERROR: out-of-range at 100000: 100000 sequences of 100000000 tokens are 1.0e+13 tokens in one step, and the most is 1e+11.
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

job "c" {
  model   = model.c
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 100
    steps             = 1e10 # ERROR: out-of-range at 1e10: 10000000000 steps of 1.0e+10 tokens are 1.0e+20 tokens, and the most is 1e+17.

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

gpu "g" {
  base             = catalog.gpu.h100_sxm
  memory_bandwidth = "1e-300GB/s" # ERROR: out-of-range at "1e-300GB/s": "memory_bandwidth" must be at least 1KB/s and at most 1000000TB/s, not "1e-300GB/s".
  power            = "0.001W" # ERROR: out-of-range at "0.001W": "power" must be at least 1W and at most 1000kW, not "0.001W".

  peak_flops {
    bf16 = "1e9EFLOPS" # ERROR: out-of-range at "1e9EFLOPS": "bf16" must be at least 1MFLOPS and at most 1000EFLOPS, not "1e9EFLOPS".
  }
}

cluster "d" {
  base               = catalog.cluster.dgx_h100
  gpu                = gpu.g
  host_memory        = "2000000TiB" # ERROR: out-of-range at "2000000TiB": "host_memory" must be at least 1B and at most 1000000TiB, not "2000000TiB".
  price_per_gpu_hour = 1e308 # ERROR: out-of-range at 1e308: "price_per_gpu_hour" must be greater than 0 and at most 1e+18, not 1e+308.

  network {
    oversubscription = 1e300 # ERROR: out-of-range at 1e300: "oversubscription" must be at least 1 and at most 1e+18, not 1e+300.
    latency          = "0s"
  }
  nvlink {
    latency = "1e-300s" # ERROR: out-of-range at "1e-300s": "latency" must be at least 1ns and at most 36500d, not "1e-300s".
  }
}

job "d" {
  model   = catalog.model.debug
  cluster = cluster.d

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
      path     = "/checkpoints"
      interval = "1e300s" # ERROR: out-of-range at "1e300s": "interval" must be at least 1ns and at most 36500d, not "1e300s".
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    time = "40000d" # ERROR: out-of-range at "40000d": "time" must be at least 1ns and at most 36500d, not "40000d".
  }
}
