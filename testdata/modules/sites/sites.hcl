cluster "alps" {
  base  = catalog.cluster.dgx_h200
  nodes = 16
}

site "alps" {
  cluster     = cluster.alps
  environment = { NCCL_IB_HCA = "mlx5" }

  values = {
    data        = "/capstor/data"
    checkpoints = "/capstor/checkpoints"
  }

  slurm {
    account   = "a-llm"
    partition = "normal"
  }
  container {
    mounts = ["/capstor:/capstor"]
  }
  backend "megatron" {
    path = "/opt/megatron-lm"

    container {
      image = "/capstor/images/megatron.sqsh"
    }
  }
}

cluster "lab" {
  base  = catalog.cluster.dgx_h100
  nodes = 8
}

site "lab" {
  cluster = cluster.lab

  values = {
    data        = "/data"
    checkpoints = "/scratch/checkpoints"
  }

  slurm {
    partition = "h100"
  }
  backend "megatron" {
    path = "/home/llm/megatron-lm"
  }
}
