job "dense-8b" {
  base  = module.pretrain.job.pretrain
  model = module.models.model.dense_8b
  site  = module.sites.site.alps
}

job "dense-70b" {
  base  = module.pretrain.job.pretrain
  model = module.models.model.dense_70b
  site  = module.sites.site.alps

  training {
    checkpoint {
      path = "${here.checkpoints}/dense-70b"
    }
  }
}

job "sparse" {
  base  = module.pretrain.job.pretrain
  model = module.models.model.sparse
  site  = module.sites.site.fuji
}

job "seeds" {
  count = 2
  base  = module.pretrain.job.pretrain
  model = module.models.model.dense_8b
  site  = module.sites.site.fuji

  training {
    seed   = 100 + count.index
    tokens = 1e11
  }
}

job "rates" {
  for_each = { low = 1e-4, mid = 2e-4, high = 4e-4 }
  base     = module.pretrain.job.pretrain
  model    = module.models.model.dense_8b
  site     = module.sites.site.fuji

  training {
    tokens = 1e11

    optimizer "adamw" {
      learning_rate = each.value
    }
  }
}
