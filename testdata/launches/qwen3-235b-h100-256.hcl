# Qwen3-235B-A22B on 256 H100: the model zoo of Megatron-Core.
# Source, options and published figures: the row "qwen3-235b-h100-256" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 32
}

job "qwen3-235b-h100-256" {
  model   = catalog.model.qwen3_235b_a22b
  cluster = cluster.here

  training {
    global_batch_size = 2048
    steps             = 131130
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 3.9e-6
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 750
      minimum_learning_rate = 3.9e-7
    }

    data {
      mock = true
    }

    logging {
      interval = 1
    }
  }

  constraints {
    layout {
      tensor_parallel         = 2
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 8
      virtual_pipeline        = 4
      stage_layers            = [2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2]
      expert_parallel         = 32
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "selective"
      recompute_modules       = ["moe_act", "layernorm"]
    }
  }

  execution {
    cuda_graphs              = ["moe_router", "moe_preprocess"]
    cross_entropy            = "fused"
    moe_dispatcher           = "deepep"
    overlap_expert_parallel  = true
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true
    overlap_tensor_parallel  = true

    offload {
      optimizer = false
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "qwen3-235b-h100-256-free" {
  base    = job.qwen3-235b-h100-256
  without = ["constraints.layout", "execution"]
}
