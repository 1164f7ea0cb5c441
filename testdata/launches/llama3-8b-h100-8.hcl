# Llama 3 8B on 8 H100 in fp8: Megatron-LM's example.
# Source, options and published figures: the row "llama3-8b-h100-8" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

model "llama3_8b_1p" {
  base               = catalog.model.llama3_8b
  init_std           = 0.0134
  zero_centered_norm = true

  position_embedding "rope" {
    theta = 1000000
  }
}

job "llama3-8b-h100-8" {
  model   = model.llama3_8b_1p
  cluster = cluster.here

  training {
    global_batch_size = 128
    steps             = 15258789
    precision         = "fp8"

    fp8 {
      recipe           = "delayed"
      parameter_gather = true
    }

    optimizer "adamw" {
      learning_rate     = 0.00015
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 30517
      minimum_learning_rate = 1e-5
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
      tensor_parallel         = 1
      context_parallel        = 1
      pipeline_parallel       = 1
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
  }

  backend "megatron" {
    version = "core_v0.19.2"
    path    = "/opt/megatron-lm"
  }

  slurm {}
}

# What ndc chooses where nothing is pinned.
job "llama3-8b-h100-8-free" {
  base    = job.llama3-8b-h100-8
  without = ["constraints.layout", "execution"]
}
