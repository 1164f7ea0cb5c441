# Mixtral 8x22B on 128 H100: the model zoo of Megatron-Core.
# Source, options and published figures: the row "mixtral-8x22b-h100-128" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 16
}

model "mixtral_8x22b_4k" {
  base            = catalog.model.mixtral_8x22b
  sequence_length = 4096
}

job "mixtral-8x22b-h100-128" {
  model   = model.mixtral_8x22b_4k
  cluster = cluster.here

  training {
    global_batch_size = 256
    steps             = 1049041
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 1.2e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 635
      minimum_learning_rate = 1.2e-6
    }

    data {
      mock = true
    }

    logging {
      interval = 1
    }
  }

  constraints {
    max_oom_probability {
      start = 1
      run   = 1
    }

    layout {
      tensor_parallel         = 2
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 8
      virtual_pipeline        = 7
      stage_layers            = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
      expert_parallel         = 8
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "none"
    }
  }

  execution {
    cross_entropy            = "fused"
    moe_dispatcher           = "alltoall"
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
job "mixtral-8x22b-h100-128-free" {
  base    = job.mixtral-8x22b-h100-128
  without = ["constraints.layout", "execution"]
}
