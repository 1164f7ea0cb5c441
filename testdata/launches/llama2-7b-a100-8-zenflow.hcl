# Llama 2 7B with ZenFlow, here on 8 A100: DeepSpeedExamples.
# Source, options and published figures: the row "llama2-7b-a100-8-zenflow" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_a100
  nodes = 1
}

model "shorter" {
  base            = catalog.model.llama2_7b
  sequence_length = 4096
}

job "llama2-7b-a100-8-zenflow" {
  model   = model.shorter
  cluster = cluster.here

  training {
    global_batch_size = 8
    steps             = 1000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 2e-5
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
      zero_stage              = 2
      micro_batch_size        = 1
      recompute               = "none"
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
job "llama2-7b-a100-8-zenflow-free" {
  base    = job.llama2-7b-a100-8-zenflow
  without = ["constraints.layout", "execution"]
}
