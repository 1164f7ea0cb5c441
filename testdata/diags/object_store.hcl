job "chained" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
    checkpoint {
      path = "s3://bucket/chained" # ERROR: invalid-value at "s3://bucket/chained": "s3://bucket/chained/megatron" is no folder of a file system. The script of a chain, or of a job with spare nodes, looks there for the newest step, finds none, and ends. Save to a folder that the nodes mount.
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    time  = "1h"
    chain = "until_done"
  }
}
job "single" {
  base    = job.chained
  without = ["slurm"]
  training {
    checkpoint {
      path = "s3://bucket/single"
    }
  }
}
