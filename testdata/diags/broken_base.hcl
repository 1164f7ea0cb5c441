# What a broken base would have given is not reported as missing.
variable "size" {
  default = "9b"
}

model "a" {
  base = { "8b" = catalog.model.llama3_8b }[var.size] # ERROR: invalid-expression at [var.size]: The given key does not identify an element in this collection value. { "8b" = catalog.model.llama3_8b } has no "9b".

  moe {
    top_k = 2
  }
}

model "b" {
  base            = model.a
  sequence_length = "long" # ERROR: wrong-type at "long": "sequence_length" must be a whole number, not the text "long".
}

job "j" {
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
