# A misspelt word is one error, though what it stands for is missing with it.
variable "precision" {
  type    = string
  defualt = "bf16" # ERROR: unknown-argument at defualt: The block variable has no argument "defualt". Did you mean "default"?
}
job "a" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    precision         = var.precision
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "constant" {}
    data {
      mock = true
    }
  }
  bakcend "torchtitan" { # ERROR: unknown-block at bakcend: The block job has no block "bakcend". Did you mean "backend"?
    version = "0.3.0"
  }
}
job "b" {
  bse = job.a # ERROR: unknown-argument at bse: The block job has no argument "bse". Did you mean "base"?
}
job "c" {
  sites = site.x # ERROR: unknown-argument at sites: The block job has no argument "sites". Did you mean "site"?
  model = catalog.model.debug
}
model "d" {
  bse             = catalog.model.debug # ERROR: unknown-argument at bse: The block model has no argument "bse". Did you mean "base"?
  sequence_length = 512
}
job "e" {
  model   = model.d
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    schedule "constant" {}
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
job "f" {
  sites   = site.x # ERROR: unknown-argument at sites: The block job has no argument "sites". Did you mean "site"?
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = here.batch
    checkpoint {
      path = "${here.checkpoints}/f"
    }
  }
}
job "g" {
  bse = job.f # ERROR: unknown-argument at bse: The block job has no argument "bse". Did you mean "base"?
  training {
    seed = here.seed
  }
}
