# Llama 3 70B on 128 GH200 of Alps: the Swiss AI Initiative.
# Source, options and published figures: the row "llama3-70b-gh200-128" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.alps
  nodes = 32
}

model "llama3_70b_swiss" {
  base     = catalog.model.llama3_1_70b
  init_std = 0.008944
}

job "llama3-70b-gh200-128" {
  model   = model.llama3_70b_swiss
  cluster = cluster.here

  training {
    global_batch_size = 1024
    steps             = 500
    precision         = "bf16"
    seed              = 28

    optimizer "adamw" {
      learning_rate     = 0.00015
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 200
      minimum_learning_rate = 1.5e-5
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
      tensor_parallel         = 4
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 8
      virtual_pipeline        = 2
      stage_layers            = [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]
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
job "llama3-70b-gh200-128-free" {
  base    = job.llama3-70b-gh200-128
  without = ["constraints.layout", "execution"]
}
