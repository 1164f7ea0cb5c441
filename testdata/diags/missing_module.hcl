module "a" {
  source  = "git::https://example.org/modules.git//pretrain" # ERROR: missing-module at "git::https://example.org/modules.git//pretrain": "git::https://example.org/modules.git//pretrain" is not here yet. Run ndc init, which fetches what the module blocks name.
  version = "~> 2.1"
}
module "b" {
  source = "./b//../../c" # ERROR: outside-module at "./b//../../c": "../../c" leads out of "./b", and what stands behind // is inside of what stands before it.
}

# What the job of such a module would have given is not reported as missing.
job "j" {
  base    = module.a.job.pretrain
  model   = catalog.model.llama3_8b
  cluster = catalog.cluster.single_gpu

  training {
    seed = 1
  }
  slurm {
    container {
      mounts = ["/data:/data"]
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
