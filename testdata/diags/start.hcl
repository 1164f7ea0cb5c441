job "a" {
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
    start {
      from            = "huggingface"
      path            = "/models/llama3"
      reset_optimizer = true # ERROR: inapplicable-argument at true: "reset_optimizer" has no effect on a start from huggingface, which holds weights only. Remove it.
    }
  }
  backend "deepspeed" {
    version = "0.19.8"
  }
}
