# Llama 3 70B on 4 GH200 with SuperOffload: DeepSpeedExamples.
# Source, options and published figures: the row "llama3-70b-gh200-4" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.alps
  nodes = 1

  host_memory           = "1920GB" # superchips of 480 GB
  host_memory_bandwidth = "1536GB/s"
}

model "shorter" {
  base            = catalog.model.llama3_1_70b
  sequence_length = 4096
}

job "llama3-70b-gh200-4" {
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
      micro_batch_size        = 1
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
job "llama3-70b-gh200-4-free" {
  base    = job.llama3-70b-gh200-4
  without = ["constraints.layout", "execution"]
}
