# Llama 3.1 8B on 128 H100: the file of TorchTitan 0.2.2 at the size of its own benchmark.
# Source, options and published figures: the row "llama3-8b-h100-128" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 16
  gpu   = catalog.gpu.h100_96gb_500w
}

job "llama3-8b-h100-128" {
  model   = catalog.model.llama3_1_8b
  cluster = cluster.here

  training {
    global_batch_size = 256
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 0.0003
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
      tensor_parallel         = 1
      context_parallel        = 1
      pipeline_parallel       = 1
      data_parallel_replicate = 1
      zero_stage              = 3
      micro_batch_size        = 2
      recompute               = "selective"
      recompute_modules       = ["op"]
    }
  }

  execution {
    compile = false
  }

  backend "torchtitan" {
    version = "0.2.2"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-8b-h100-128-free" {
  base    = job.llama3-8b-h100-128
  without = ["constraints.layout", "execution"]
}
