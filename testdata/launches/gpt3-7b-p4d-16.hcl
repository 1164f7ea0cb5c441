# GPT-3 7.5B on two p4d instances: AWS's test case.
# Source, options and published figures: the row "gpt3-7b-p4d-16" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.aws_p4de
  nodes = 2
}

model "gpt3_7b" {
  base     = catalog.model.gpt3_7_5b
  init_std = 0.006
}

job "gpt3-7b-p4d-16" {
  model   = model.gpt3_7b
  cluster = cluster.here

  training {
    global_batch_size = 288
    steps             = 508626
    precision         = "fp16"

    optimizer "adamw" {
      learning_rate     = 6e-5
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 635
      minimum_learning_rate = 6e-6
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
      tensor_parallel   = 4
      sequence_parallel = false
      context_parallel  = 1
      pipeline_parallel = 2
      virtual_pipeline  = 1
      stage_layers      = [18, 18]
      zero_stage        = 0
      micro_batch_size  = 1
      recompute         = "selective"
      recompute_modules = ["core_attn"]
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
job "gpt3-7b-p4d-16-free" {
  base    = job.gpt3-7b-p4d-16
  without = ["constraints.layout", "execution"]
}
