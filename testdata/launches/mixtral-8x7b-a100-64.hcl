# Mixtral 8x7B on 64 A100: Megatron-LM's example.
# Source, options and published figures: the row "mixtral-8x7b-a100-64" of launches.jsonl.
cluster "here" {
  base  = catalog.cluster.dgx_a100
  nodes = 8
}

model "mixtral_8x7b_4k" {
  base            = catalog.model.mixtral_8x7b
  sequence_length = 4096
  init_std        = 0.01
}

job "mixtral-8x7b-a100-64" {
  model   = model.mixtral_8x7b_4k
  cluster = cluster.here

  training {
    global_batch_size = 256
    steps             = 500000
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate     = 0.0001
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.999
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 500
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
      pipeline_parallel       = 4
      virtual_pipeline        = 1
      stage_layers            = [8, 8, 8, 8]
      expert_parallel         = 8
      expert_tensor_parallel  = 1
      data_parallel_replicate = 1
      zero_stage              = 1
      micro_batch_size        = 1
      recompute               = "none"
    }
  }

  execution {
    cross_entropy            = "unfused"
    moe_dispatcher           = "alltoall"
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
job "mixtral-8x7b-a100-64-free" {
  base    = job.mixtral-8x7b-a100-64
  without = ["constraints.layout", "execution"]
}
