model "a" {
  base              = catalog.model.llama3_8b
  kv_heads          = 5 # ERROR: inconsistent-model at 5: 32 attention heads cannot share 5 key and value heads evenly; kv_heads must divide attention_heads (1, 2, 4, 8, 16, 32).
  padded_vocab_size = 1000 # ERROR: inconsistent-model at 1000: padded_vocab_size is 1000, fewer than the 128256 tokens of vocab_size.
  sequence_length   = 10000
  head_dim          = 127 # ERROR: inconsistent-model at 127: Rotary positions turn pairs of dimensions, so head_dim must be even, not 127.
  mtp_layers        = 40 # ERROR: inconsistent-model at 40: 40 multi-token-prediction layers on 32 decoder layers.
  activation_clamp  = 7 # ERROR: inapplicable-argument at 7: "activation_clamp" has no effect. It shapes swiglu, and the activation is geglu. Remove it.
  activation        = "geglu"
  dropout           = 1 # ERROR: out-of-range at 1: With a dropout of 1 nothing passes. It is a probability, such as 0.1.

  sliding_window {
    size    = 4096
    pattern = 64 # ERROR: inconsistent-model at 64: Every 64-th layer is to attend to everything, but the model has 32 layers.
  }
}

model "b" {
  base            = catalog.model.gpt3_1_7b
  sequence_length = 4096

  position_embedding "learned" {
    theta = 10000 # ERROR: inapplicable-argument at theta: "theta" has no effect with position_embedding "learned"; it belongs to "rope". Remove it.
  }
}

model "c" {
  base            = catalog.model.gpt3_1_7b
  sequence_length = 4096 # ERROR: inconsistent-model at 4096: Sequences of 4096 tokens need as many learned positions, and max_positions is 2048. Raise max_positions too, or shorten the sequences.
}

job "j" {
  model   = model.a
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

job "k" {
  model   = model.b
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

job "l" {
  model   = model.c
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
