# GPT-3 175B on 128 A100: Megatron-LM's example, whose 8 GPUs stand for the 128 of its layout.
# Source, options and published figures: the row "gpt3-175b-a100-128" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_a100
  nodes = 16
}

job "gpt3-175b-a100-128" {
  model   = catalog.model.gpt3_175b
  cluster = cluster.here

  training {
    global_batch_size = 1536
    steps             = 500000
    precision         = "fp16"

    optimizer "adamw" {
      learning_rate     = 6e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      minimum_learning_rate = 6e-6
    }

    data {
      mock = true
    }

    logging {
      interval = 100
    }
  }

  constraints {
    layout {
      tensor_parallel   = 8
      sequence_parallel = false
      context_parallel  = 1
      pipeline_parallel = 16
      virtual_pipeline  = 1
      stage_layers      = [6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]
      zero_stage        = 0
      micro_batch_size  = 1
      recompute         = "none"
    }
  }

  execution {
    cross_entropy            = "unfused"
    overlap_gradient_reduce  = false
    overlap_parameter_gather = false

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
job "gpt3-175b-a100-128-free" {
  base    = job.gpt3-175b-a100-128
  without = ["constraints.layout", "execution"]
}
