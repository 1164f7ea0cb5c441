job "a" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100 # ERROR: conflicting-arguments at 100: The length of the run is given twice: 100 steps and 2000000000 tokens. Keep one; the other follows.
    tokens            = 2e9

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
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    batch_ramp {
      start     = 3
      increment = 2 # ERROR: inconsistent-training at 2: From 3 to 8 there are 5 sequences, which is not a multiple of the increment, 2.
      sequences = 10
    }
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "linear" {
      warmup_steps  = 10
      warmup_tokens = 1e5 # ERROR: conflicting-arguments at 1e5: warmup_steps and warmup_tokens say the same thing twice. Keep one.
      decay_steps   = 5
      decay_tokens  = 1e5 # ERROR: conflicting-arguments at 1e5: decay_steps and decay_tokens say the same thing twice. Keep one.
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
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    batch_ramp {
      start     = 2
      increment = 2
      sequences = 2 # ERROR: inconsistent-training at 2: 2 sequences are too few for the 3 stages of the ramp.
    }
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"
      mock   = true # WARNING: unread-data at true: Mock data are made up, so the sources are not read. Remove mock to train on them.

      source "a" {
        path = "/a"
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
