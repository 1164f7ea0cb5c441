# Qwen3-235B-A22B on 256 GB200 in bf16: the model zoo of Megatron-Core.
# Source, options and published figures: the row "qwen3-235b-gb200-256" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 64
}

job "qwen3-235b-gb200-256" {
  model   = catalog.model.qwen3_235b_a22b
  cluster = cluster.here

  training {
    global_batch_size = 8192
    steps             = 32782
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 3.9e-6
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 187
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
      tensor_parallel         = 1
      context_parallel        = 1
      pipeline_parallel       = 8
      virtual_pipeline        = 1
      stage_layers            = [11, 12, 12, 12, 12, 12, 12, 11]
      expert_parallel         = 8
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "none"
    }
  }

  execution {
    cuda_graphs              = ["attention", "moe_router", "moe_preprocess"]
    cross_entropy            = "fused"
    moe_dispatcher           = "hybridep"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true

    offload {
      optimizer = false
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }

  slurm {
    segment = 2
  }
}

# What ndc chooses where nothing is pinned.
job "qwen3-235b-gb200-256-free" {
  base    = job.qwen3-235b-gb200-256
  without = ["constraints.layout", "execution"]
}
