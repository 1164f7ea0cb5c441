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
  constraints {
    layout {
      pipeline_parallel = 1
      virtual_pipeline  = [2, 4] # ERROR: inconsistent-layout at [2, 4]: "virtual_pipeline" asks for several chunks per pipeline rank, and pipeline_parallel = 1 leaves no pipeline. Remove one of them.
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}
