# DeepSeek-V3 under Megatron-FSDP: Megatron-LM's example, here on 256 GB200.
# Source, options and published figures: the row "deepseek-v3-gb200-256-fsdp" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 64
}

job "deepseek-v3-gb200-256-fsdp" {
  model   = catalog.model.deepseek_v3
  cluster = cluster.here

  training {
    global_batch_size = 2048
    steps             = 286102
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
      tensor_parallel         = 1
      context_parallel        = 1
      pipeline_parallel       = 1
      expert_parallel         = 8
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 3
      micro_batch_size        = 4
      recompute               = "selective"
      recompute_modules       = ["mlp", "moe", "mla_up_proj", "layernorm"]
    }
  }

  execution {
    cross_entropy            = "unfused"
    fully_sharded            = true
    gradient_dtype           = "bf16"
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

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "deepseek-v3-gb200-256-fsdp-free" {
  base    = job.deepseek-v3-gb200-256-fsdp
  without = ["constraints.layout", "execution"]
}
