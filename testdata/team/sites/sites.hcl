# What the admins of the two clusters own.
site "alps" {
  cluster     = cluster.alps
  environment = { NCCL_DEBUG = "WARN" }
  values = {
    data        = "/capstor/data"
    checkpoints = "/iopsstor/checkpoints"
  }

  slurm {
    account   = "a-llm"
    partition = "normal"
    time      = "12:00:00"
    chain     = "until_done"
  }
  container {
    image  = "/capstor/images/megatron-0.18.sqsh"
    mounts = ["/capstor:/capstor", "/iopsstor:/iopsstor"]
  }
  templates {
    sbatch_header = file("templates/header.tmpl")
    after_launch  = file("templates/after.tmpl")
  }
  policy "half" {
    condition     = plan.input.nodes <= 128
    error_message = "Alps gives one job at most half of its 256 nodes."
  }
}

site "fuji" {
  cluster = cluster.fuji
  values = {
    data        = "/scratch/data"
    checkpoints = "/scratch/checkpoints"
  }

  slurm {
    account   = "llm"
    partition = "h200"
    time      = "24:00:00"
    chain     = "until_done"
  }
  container {
    image  = "/scratch/images/megatron-0.18.sqsh"
    mounts = ["/scratch:/scratch"]
  }
}
