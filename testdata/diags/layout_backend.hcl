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
      recompute        = "full"
      recompute_method = "uniform" # ERROR: inapplicable-argument at "uniform": "recompute_method" belongs to recompute = "full", which recompute here does not allow. Write it into the block of the backend, or of the job, that it is for.
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
  backend "torchtitan" {
    version = "0.3.0"

    constraints {
      layout {
        recompute         = "none"
        pipeline_parallel = 1
        virtual_pipeline  = 1
        stage_layers      = [16, 16] # ERROR: inconsistent-layout at [16, 16]: stage_layers has 2 chunks, and needs 1 for 1 pipeline rank.
      }
    }
  }
}
