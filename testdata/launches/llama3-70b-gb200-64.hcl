# Llama 3 70B on 64 GB200 in mxfp8: the performance recipe of Megatron-Bridge.
# Source, options and published figures: the row "llama3-70b-gb200-64" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb200_nvl72
  nodes = 16
}

job "llama3-70b-gb200-64" {
  model   = catalog.model.llama3_70b
  cluster = cluster.here

  training {
    global_batch_size = 256
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
      tensor_parallel         = 2
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 4
      virtual_pipeline        = 5
      stage_layers            = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "none"
    }
  }

  execution {
    cross_entropy            = "fused"
    gradient_dtype           = "bf16"
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
job "llama3-70b-gb200-64-free" {
  base    = job.llama3-70b-gb200-64
  without = ["constraints.layout", "execution"]
}
