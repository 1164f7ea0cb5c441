module "base" {
  source = "../modules/pretrain"

  size   = "8b"
  tokens = 2e11
}

module "sites" {
  source = "../sites"
}

job "sweep" {
  for_each = { half = 0.5, double = 2 }
  base     = module.base.job.pretrain
  site     = module.sites.site.alps

  training {
    optimizer "adamw" {
      learning_rate = module.base.learning_rate * each.value
    }
  }
}
