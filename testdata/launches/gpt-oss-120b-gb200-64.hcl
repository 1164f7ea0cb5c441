# gpt-oss-120b on 64 GB200 in mxfp8: the performance recipe of Megatron-Bridge.
# Source, options and published figures: the row "gpt-oss-120b-gb200-64" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 16
}

model "gpt_oss_120b_4k" {
  base            = catalog.model.gpt_oss_120b
  sequence_length = 4096
}

job "gpt-oss-120b-gb200-64" {
  model   = model.gpt_oss_120b_4k
  cluster = cluster.here

  training {
    global_batch_size = 1280
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
      pipeline_parallel       = 1
      expert_parallel         = 64
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 4
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
    segment = 16
  }
}

# What ndc chooses where nothing is pinned.
job "gpt-oss-120b-gb200-64-free" {
  base    = job.gpt-oss-120b-gb200-64
  without = ["constraints.layout", "execution"]
}
