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
      recompute_modules = ["mlp", "moe", "mla_up_proj"] # ERROR: inapplicable-argument at ["mlp", "moe", "mla_up_proj"]: "mla_up_proj" in recompute_modules has no effect: the model has no latent attention (no mla block). Remove it. # ERROR: inapplicable-argument at ["mlp", "moe", "mla_up_proj"]: "moe" in recompute_modules has no effect: the model has no experts (no moe block). Remove it.
    }
  }
  backend "megatron" {
    version = "core_v0.19.2"
  }
}

job "b" {
  base  = job.a
  model = catalog.model.qwen3_30b_a3b

  constraints {
    layout {
      pipeline_parallel = [1, 2]
      recompute_layers  = [64, 96] # ERROR: inconsistent-layout at [64, 96]: The model has 48 layers, and "recompute_layers" asks for more of each chunk. Write at most 48.
      recompute_modules = ["moe", "shared_experts"] # ERROR: inapplicable-argument at ["moe", "shared_experts"]: "shared_experts" in recompute_modules has no effect: the model has no shared experts. Remove it.
    }
  }
}

job "c" {
  base = job.b

  constraints {
    layout {
      zero_stage          = 0 # ERROR: inconsistent-layout at 0: With zero_stage = 0 nothing is sharded, and "data_parallel_shard" asks for ranks that shard. Count them in data_parallel_replicate, or take another stage.
      data_parallel_shard = [2, 4]
      recompute_layers    = 4
      recompute_modules   = ["moe"]
    }
  }
}

job "d" {
  base = job.c

  constraints {
    layout {
      zero_stage              = [1, 2] # ERROR: inconsistent-layout at [1, 2]: A stage above 0 shards over data_parallel_shard, which is 1 beside "data_parallel_replicate". Take zero_stage = 0, or let data_parallel_shard be more.
      data_parallel_shard     = 1
      data_parallel_replicate = 2
    }
  }
}
