# Words for a base and for made-up tokens that other tools have.
model "m" {
  from = catalog.model.llama3_8b # ERROR: unknown-argument at from: The block model has no argument "from". Did you mean "base"?
}

job "j" {
  model   = model.m
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "mock" # ERROR: unknown-value at "mock": "mock" is not a value of "format", which takes "megatron", "tokens" or "jsonl". Write mock = true in place of format.
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
