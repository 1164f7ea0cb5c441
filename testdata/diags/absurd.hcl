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
