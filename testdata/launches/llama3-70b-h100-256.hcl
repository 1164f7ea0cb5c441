# Llama 3.1 70B on 256 H100: the file of TorchTitan 0.2.2 at the size of its own benchmark.
# Source, options and published figures: the row "llama3-70b-h100-256" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 32
  gpu   = catalog.gpu.h100_96gb_500w
}

job "llama3-70b-h100-256" {
  model   = catalog.model.llama3_1_70b
  cluster = cluster.here

  training {
    global_batch_size = 512
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 0.00015
      beta1             = 0.9
      beta2             = 0.95
      weight_decay      = 0.1
      gradient_clipping = 1
    }

    schedule "linear" {
      warmup_steps          = 200
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
      micro_batch_size        = 16
      recompute               = "full"
      recompute_method        = "uniform"
    }
  }

  execution {
    compile = true
  }

  backend "torchtitan" {
    version = "0.2.2"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-70b-h100-256-free" {
  base    = job.llama3-70b-h100-256
  without = ["constraints.layout", "execution"]
}
