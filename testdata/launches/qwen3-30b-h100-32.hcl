# Qwen3-30B-A3B on 32 H100, full recompute: the model zoo of Megatron-Core.
# Source, options and published figures: the row "qwen3-30b-h100-32" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}

job "qwen3-30b-h100-32" {
  model   = catalog.model.qwen3_30b_a3b
  cluster = cluster.here

  training {
    global_batch_size = 256
    steps             = 1049041
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 0.00012
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 635
      minimum_learning_rate = 1.2e-5
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
      pipeline_parallel       = 1
      expert_parallel         = 8
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 4
      recompute               = "full"
      recompute_method        = "uniform"
      recompute_layers        = 1
    }
  }

  execution {
    cross_entropy            = "fused"
    moe_dispatcher           = "deepep"
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

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "qwen3-30b-h100-32-free" {
  base    = job.qwen3-30b-h100-32
  without = ["constraints.layout", "execution"]
}
