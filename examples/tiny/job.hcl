# Four small layers on one GPU for a minute, on random tokens: does everything
# from the submission to the last checkpoint work on this cluster?

ndc {
  required_version = ">= 0.1"
}

model "debug" {
  base            = catalog.model.debug
  sequence_length = 512
}

job "tiny" {
  model   = model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 32
    steps             = 2000
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 1e-3
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "cosine" {
      warmup_steps          = 100
      minimum_learning_rate = 1e-4
    }

    data {
      mock = true
    }

    checkpoint {
      path     = "/tmp/tiny"
      interval = 1000
    }

    logging {
      interval = 10
    }
  }

  backend "megatron" {
    version = "core_v0.16.1"
    path    = "/opt/megatron-lm"
  }
  backend "torchtitan" {
    version = "0.2.2"
  }
  backend "deepspeed" {
    version = "0.16.4"
  }

  slurm {
    partition = "debug"
    time      = "00:10:00"
  }
}
