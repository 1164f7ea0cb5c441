model "letters" {
  base          = catalog.model.nemotron_h_8b
  layer_pattern = "MX" # ERROR: invalid-value at "MX": 'X', letter 2, is no block. M is a Mamba-2 mixer, G a gated delta net, * attention, - an MLP and E a mixture of experts.
}

model "words" {
  base          = catalog.model.nemotron_h_8b
  layer_pattern = ["mamba", "mpl"] # ERROR: unknown-value at "mpl": "mpl" is no word of "layer_pattern", whose words are "mamba", "gated_delta_net", "attention", "mlp" or "moe". Did you mean "mlp"?
}

model "length" {
  base          = catalog.model.nemotron_h_8b
  layer_pattern = "M-M*" # ERROR: inconsistent-model at "M-M*": layer_pattern has 4 letters, and layers is 52. Each layer is one letter, or one word of a list.
}

model "blocks" {
  base          = catalog.model.nemotron_h_8b
  layers        = 4
  layer_pattern = "G-E*" # ERROR: missing-block at "G-E*": 'E' in layer_pattern is a mixture of experts, which a block moe describes. # ERROR: missing-block at "G-E*": 'G' in layer_pattern is a gated delta net, which a block delta_net describes.

  mamba { # ERROR: inconsistent-model at mamba: No layer is a Mamba-2 mixer: layer_pattern has no 'M'. Leave the block out, or drop the base's with without = ["mamba"].
    heads = 64
  }
}

model "widths" {
  base          = catalog.model.nemotron_3_nano_30b_a3b
  layers        = 4
  layer_pattern = "MG*E"
  mtp_layers    = 1 # ERROR: missing-argument at 1: Beside layer_pattern, multi-token prediction needs "mtp_layer_pattern", the blocks of one of its layers, such as "*E".

  mamba {
    groups = 7 # ERROR: inconsistent-model at 7: 64 Mamba heads cannot form 7 equal groups (1, 2, 4, 8, 16, 32, 64).
  }
  delta_net {
    key_heads   = 16
    value_heads = 24 # ERROR: inconsistent-model at 24: 24 value heads cannot share 16 key heads evenly; key_heads must divide value_heads (1, 2, 3, 4, 6, 8, 12, 24).
  }
  moe {
    layer_frequency = 2 # ERROR: inapplicable-argument at 2: "layer_frequency" has no effect. layer_pattern says which layers have experts. Remove it.
  }
}

model "plain" {
  base = catalog.model.llama3_8b

  mamba { # ERROR: inconsistent-model at mamba: Which layers are meant? Set layer_pattern, such as "M-M*-", with a letter for each layer.
    heads = 64
  }
}

job "any" {
  model   = catalog.model.llama3_8b
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

job "letters" {
  base  = job.any
  model = model.letters
}

job "length" {
  base  = job.any
  model = model.length
}

job "blocks" {
  base  = job.any
  model = model.blocks
}

job "widths" {
  base  = job.any
  model = model.widths
}

job "plain" {
  base  = job.any
  model = model.plain
}
