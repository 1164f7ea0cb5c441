job "a" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100
    tokens            = 2e9

    optimizer "sgd" {
      learning_rate = 1e-4
      beta1         = 0.9 # ERROR: inapplicable-argument at beta1: "beta1" has no effect with optimizer "sgd"; it belongs to "adamw", "adam" or "muon". Remove it.
    }
    schedule "constant" {
      decay_steps = 4 # ERROR: inapplicable-argument at decay_steps: "decay_steps" has no effect with schedule "constant"; it belongs to "cosine", "linear" or "wsd". Remove it.
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
    tokens            = 2e9

    batch_ramp {
      start     = 3
      increment = 2
      sequences = 1
    }
    optimizer "adamw" {
      learning_rate = 1e-4
      epsilon       = 0 # ERROR: out-of-range at 0: "epsilon" must be greater than 0, not 0.
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
      start     = 16 # ERROR: inconsistent-training at 16: A ramp from 16 sequences must end higher, and global_batch_size is 8.
      increment = 2
      sequences = 1
    }
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "cosine" {
      warmup_steps          = 10
      warmup_tokens         = 10
      minimum_learning_rate = 1e-3
    }
    data {
      format = "megatron"
      mock   = true # WARNING: unread-data at true: Mock data are made up, so the sources are not read. Remove mock to train on them.
      split  = "99:1" # ERROR: invalid-value at "99:1": "99:1" is not up to three shares for training, validation and test, such as "99,1,0".

      source "a" {
        path = "/a"
      }
      tokenizer "none" {
        path = "/x" # ERROR: inapplicable-argument at "/x": A tokenizer "none" has no path. Remove it, or name the kind.
      }
    }
    start {
      reset_data = true # ERROR: inapplicable-argument at true: "reset_data" has no effect on a start from scratch. Set from, or remove it.
    }
    logging {
      profile {
        start_step = 4
        end_step   = 4 # ERROR: inconsistent-training at 4: A profile from step 4 must end after it, not at 4.
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "d" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training { # ERROR: missing-argument at training: The block training needs "tokens" or "steps": the length of the run.
    global_batch_size = 8

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "jsonl" # ERROR: missing-block at "jsonl": Text is tokenised on the fly, so format "jsonl" needs a block tokenizer "huggingface" { path = … } or another kind.

      source "a" { # ERROR: inconsistent-training at "a": The weights of the sources add up to zero, so nothing would be read.
        path   = "/a"
        weight = 0
      }
    }
    start { # ERROR: missing-argument at start: A start from "huggingface" needs the argument "path": where the weights lie.
      from = "huggingface"
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "e" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "wsd" {
      warmup_steps          = 60
      decay_steps           = 60 # ERROR: inconsistent-training at 60: A warm-up of 60 and a decay of 60 steps do not fit into a run of 100 steps.
      minimum_learning_rate = 1e-3 # ERROR: inconsistent-training at 1e-3: minimum_learning_rate, 0.001, is above learning_rate, 0.0001.
    }
    data { # ERROR: missing-argument at data: The block data needs the argument "format": "megatron", "tokens" or "jsonl". For a trial without data, write mock = true.
      tokenizer "huggingface" { # ERROR: missing-argument at "huggingface": A huggingface tokenizer needs the argument "path": where it lies on the cluster.
        end_of_document_id = 1000000 # ERROR: inconsistent-training at 1000000: The id 1000000 is outside the model's vocabulary of 2048 tokens.
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "f" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "cosine" {
      warmup_tokens = 2e12 # ERROR: inconsistent-training at 2e12: A warm-up of 488281250 steps is longer than the run of 100.
    }
    data {
      format = "jsonl" # ERROR: missing-block at "jsonl": Text is tokenised on the fly, so format "jsonl" needs a block tokenizer "huggingface" { path = … } or another kind.

      source "a" {
        path = "/a"
      }
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "shares" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"
      split  = "100,0,0" # ERROR: inconsistent-training at "100,0,0": "100,0,0" leaves nothing for the validation block: the second share is that of validation. Give it one, set "path" in the block, or remove the block.

      source "a" {
        path = "/a"
      }
      validation {
        interval = 10
        steps    = 1
      }
      tokenizer "none" {}
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  backend "torchtitan" {
    version = "0.3.0"
    training {
      data {
        split = "0,1,0" # ERROR: inconsistent-training at "0,1,0": "0,1,0" leaves nothing to train on: the first share is that of training.
      }
    }
  }
}
