# DeepSeek-V3 on 256 H100, optimizer states in host memory: the model zoo of Megatron-Core.
# Source, options and published figures: the row "deepseek-v3-h100-256-offload" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 32
}

job "deepseek-v3-h100-256-offload" {
  model   = catalog.model.deepseek_v3
  cluster = cluster.here

  training {
    global_batch_size = 8192
    steps             = 71525
    precision         = "fp8"

    fp8 {
      recipe = "blockwise"
    }

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
      virtual_pipeline        = 4
      stage_layers            = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 0]
      expert_parallel         = 32
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "selective"
      recompute_modules       = ["mla_up_proj", "moe", "mlp", "layernorm"]
    }
  }

  execution {
    cross_entropy            = "fused"
    moe_dispatcher           = "deepep"
    optimizer_state_dtype    = "bf16"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true

    offload {
      optimizer = true
    }
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "deepseek-v3-h100-256-offload-free" {
  base    = job.deepseek-v3-h100-256-offload
  without = ["constraints.layout", "execution"]
}
