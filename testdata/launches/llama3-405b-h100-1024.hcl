# Llama 3.1 405B on 1,024 H100 in fp8: the performance recipe of Megatron-Bridge.
# Source, options and published figures: the row "llama3-405b-h100-1024" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 128
}

job "llama3-405b-h100-1024" {
  model   = catalog.model.llama3_1_405b
  cluster = cluster.here

  training {
    global_batch_size = 1536
    steps             = 50
    precision         = "fp8"

    fp8 {
      recipe           = "tensorwise"
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
      tensor_parallel         = 8
      sequence_parallel       = true
      context_parallel        = 2
      pipeline_parallel       = 8
      virtual_pipeline        = 8
      stage_layers            = [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]
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
job "llama3-405b-h100-1024-free" {
  base    = job.llama3-405b-h100-1024
  without = ["constraints.layout", "execution"]
}
