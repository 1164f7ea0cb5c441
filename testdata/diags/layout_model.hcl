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
    memory_headroom = "100%" # ERROR: out-of-range at "100%": A headroom of 100% leaves no memory for the job.

    layout {
      expert_parallel   = 8 # ERROR: inconsistent-layout at 8: "expert_parallel" asks for more than one rank, but the model has no experts (no moe block). Remove it.
      stage_layers      = [8, 8, 8] # ERROR: inconsistent-layout at [8, 8, 8]: The 3 chunks of stage_layers hold 24 layers, and the model has 32. # ERROR: inconsistent-layout at [8, 8, 8]: stage_layers has 3 chunks, and needs 8 for 4 pipeline ranks with 2 chunks each.
      pipeline_parallel = 4
      recompute         = ["none"]
      recompute_layers  = 4 # ERROR: inapplicable-argument at 4: "recompute_layers" belongs to recompute = "full", which recompute here does not allow. Remove it, or allow "full".
      recompute_modules = ["mlp"] # ERROR: inapplicable-argument at ["mlp"]: "recompute_modules" belongs to recompute = "selective", which recompute here does not allow. Remove it, or allow "selective".
    }
  }
  execution {
    moe_dispatcher          = "alltoall" # ERROR: inapplicable-argument at "alltoall": "moe_dispatcher" has no effect: the model has no experts (no moe block). Remove it.
    overlap_expert_parallel = true # ERROR: inapplicable-argument at true: "overlap_expert_parallel" has no effect: the model has no experts (no moe block). Remove it.
  }
  backend "megatron" {
    version = "core_v0.18.2"

    constraints {
      layout {
        virtual_pipeline = 2
      }
    }
  }
}
