# Llama 3.1 405B on 128 H100 in fp8: the file of TorchTitan 0.2.2.
# Source, options and published figures: the row "llama3-405b-h100-128" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 16
  gpu   = catalog.gpu.h100_96gb_500w
}

job "llama3-405b-h100-128" {
  model   = catalog.model.llama3_1_405b
  cluster = cluster.here

  training {
    global_batch_size = 32
    steps             = 3000
    precision         = "fp8"

    fp8 {
      recipe           = "tensorwise"
      parameter_gather = true
    }

    optimizer "adamw" {
      learning_rate     = 8e-5
      beta1             = 0.9
      beta2             = 0.95
      weight_decay      = 0.1
      gradient_clipping = 1
    }

    schedule "linear" {
      warmup_steps          = 600
      minimum_learning_rate = 0
    }

    data {
      mock = true
    }
  }

  constraints {
    layout {
      tensor_parallel         = 8
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 1
      data_parallel_replicate = 1
      zero_stage              = 3
      micro_batch_size        = 2
      recompute               = "full"
      recompute_method        = "uniform"
    }
  }

  execution {
    compile                 = true
    overlap_tensor_parallel = true
  }

  backend "torchtitan" {
    version = "0.2.2"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-405b-h100-128-free" {
  base    = job.llama3-405b-h100-128
  without = ["constraints.layout", "execution"]
}
