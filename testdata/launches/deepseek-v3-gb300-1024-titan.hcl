# DeepSeek-V3 on 1,024 GB300: the file of TorchTitan 0.2.2, which names no cluster.
# Source, options and published figures: the row "deepseek-v3-gb300-1024-titan" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.gb300_nvl72
  nodes = 256
}

model "deepseek_v3_without_mtp" {
  base       = catalog.model.deepseek_v3
  mtp_layers = 0
}

job "deepseek-v3-gb300-1024-titan" {
  model   = model.deepseek_v3_without_mtp
  cluster = cluster.here

  training {
    global_batch_size = 4096
    steps             = 10000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 0.00022
      beta1             = 0.9
      beta2             = 0.95
      weight_decay      = 0.1
      gradient_clipping = 1
    }

    schedule "wsd" {
      warmup_steps          = 2000
      minimum_learning_rate = 2.2e-5
      decay_steps           = 8000
      decay_shape           = "cosine"
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
      micro_batch_size        = 4
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
job "deepseek-v3-gb300-1024-titan-free" {
  base    = job.deepseek-v3-gb300-1024-titan
  without = ["constraints.layout", "execution"]
}
