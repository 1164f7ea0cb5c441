job "j" {
  model   = catalog.model.debug
  cluster = catalog.cluster.dgx_h100 # ERROR: missing-argument at catalog.cluster.dgx_h100: The block cluster needs the argument "nodes". Nodes of this run. The catalogue leaves it to you: write a block cluster "NAME" { … } with base = catalog.cluster.dgx_h100 and nodes = ….

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
      path = "s3://bucket" # ERROR: invalid-value at "s3://bucket": "s3://bucket/megatron" is no folder of a file system. The script of a chain, or of a job with spare nodes, looks there for the newest step, finds none, and ends. Save to a folder that the nodes mount.
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    chain = 2

    container {
      image  = "/images/megatron.sqsh"
      mounts = ["/data", "/a,b:/c", "/data:/data:ro"] # ERROR: invalid-value at "/data": "/data" is not SRC:DST or SRC:DST:OPTIONS. # ERROR: invalid-value at "/a,b:/c": Containers read a list of mounts that is cut at its commas, so "/a,b:/c" cannot be one. Mount a folder above it.
    }
  }
}
