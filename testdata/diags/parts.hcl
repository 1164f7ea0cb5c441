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
  }
  execution {
    cuda_graphs = ["attention", "mpl"] # ERROR: unknown-value at "mpl": "mpl" is no part of a value of "cuda_graphs", whose parts are "attention", "mlp", "moe", "moe_router", "moe_preprocess" or "mamba". Did you mean "mlp"?
  }
  backend "megatron" {
    version = "core_v0.18.2"

    execution {
      cuda_graphs = "attention" # ERROR: unknown-value at "attention": "attention" is not a value of "cuda_graphs", which takes "none", "layer" or "full", or a list of its parts "attention", "mlp", "moe", "moe_router", "moe_preprocess" or "mamba". It is a part of a value: write parts in a list of their own, ["attention"].
    }
  }
  backend "torchtitan" {
    version = "0.3.0"

    execution {
      cuda_graphs = ["attention", "layer"] # ERROR: unknown-value at "attention": "attention" is not a value of "cuda_graphs", which takes "none", "layer" or "full", or a list of its parts "attention", "mlp", "moe", "moe_router", "moe_preprocess" or "mamba". It is a part of a value: write parts in a list of their own, ["attention"].
    }
  }
  backend "deepspeed" {
    version = "0.19.8"

    execution {
      cuda_graphs = ["none", ["attention", 3], []] # ERROR: out-of-range at ["none", ["attention", 3], []]: A list of parts in "cuda_graphs" is empty. Parts are "attention", "mlp", "moe", "moe_router", "moe_preprocess" or "mamba". # ERROR: wrong-type at ["attention", 3]: "cuda_graphs" must be text in quotes, not 3.
    }
  }
}
