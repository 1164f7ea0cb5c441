# Qwen3-235B-A22B on 256 GB200 in mxfp8: the performance recipe of Megatron-Bridge.
# Source, options and published figures: the row "qwen3-235b-gb200-256-bridge" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 64
}

job "qwen3-235b-gb200-256-bridge" {
  model   = catalog.model.qwen3_235b_a22b
  cluster = cluster.here

  training {
    global_batch_size = 8192
    steps             = 50
    precision         = "mxfp8"

    fp8 {
      parameter_gather = true
    }

    optimizer "adamw" {
      learning_rate     = 0.0003
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 10
      minimum_learning_rate = 3e-5
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
      virtual_pipeline        = 3
      stage_layers            = [3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3]
      expert_parallel         = 32
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "none"
    }
  }

  execution {
    cross_entropy            = "fused"
    cuda_graphs              = "full"
    gradient_dtype           = "bf16"
    moe_dispatcher           = "hybridep"
    overlap_expert_parallel  = true
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
    segment = 8
  }
}

# What ndc chooses where nothing is pinned.
job "qwen3-235b-gb200-256-bridge-free" {
  base    = job.qwen3-235b-gb200-256-bridge
  without = ["constraints.layout", "execution"]
}
