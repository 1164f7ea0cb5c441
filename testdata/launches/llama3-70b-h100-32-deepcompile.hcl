# Llama 3 70B on 32 H100 with DeepCompile: DeepSpeedExamples.
# Source, options and published figures: the row "llama3-70b-h100-32-deepcompile" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}

model "shorter" {
  base            = catalog.model.llama3_70b
  sequence_length = 4096
}

job "llama3-70b-h100-32-deepcompile" {
  model   = model.shorter
  cluster = cluster.here

  training {
    global_batch_size = 32
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-5
      weight_decay  = 0.01
    }

    schedule "cosine" {
      warmup_steps = 50
    }

    data {
      mock = true
    }
  }

  constraints {
    layout {
      context_parallel        = 1
      data_parallel_replicate = 1
      zero_stage              = 3
      micro_batch_size        = 1
      recompute               = "full"
      recompute_method        = "uniform"
    }
  }

  execution {
  }

  backend "deepspeed" {
    version = "0.19.8"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-70b-h100-32-deepcompile-free" {
  base    = job.llama3-70b-h100-32-deepcompile
  without = ["constraints.layout", "execution"]
}
