# Llama 3 8B on one GH200 with ZeRO-Offload: DeepSpeedExamples.
# Source, options and published figures: the row "llama3-8b-gh200-1" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.single_gpu
  nodes = 1
  gpu   = catalog.gpu.gh200
}

model "shorter" {
  base            = catalog.model.llama3_1_8b
  sequence_length = 4096
}

job "llama3-8b-gh200-1" {
  model   = model.shorter
  cluster = cluster.here

  training {
    global_batch_size = 4
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
      micro_batch_size        = 4
      recompute               = "full"
      recompute_method        = "uniform"
    }
  }

  execution {

    offload {
      optimizer = true
    }
  }

  backend "deepspeed" {
    version = "0.19.8"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-8b-gh200-1-free" {
  base    = job.llama3-8b-gh200-1
  without = ["constraints.layout", "execution"]
}
