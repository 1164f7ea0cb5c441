variable "window" {
  default = true
}

model "a" {
  without = ["moe"] # ERROR: inapplicable-argument at ["moe"]: "without" drops blocks of a base, and there is no base. Remove it.
}

model "b" {
  base    = catalog.model.debug_moe
  without = ["moe", "mlaa", "layers"] # ERROR: unknown-value at "mlaa": A model has no block or argument "mlaa" to leave out. Did you mean "mla"?
}

model "c" {
  base = merge(catalog.model.debug, { layers = 3 }) # ERROR: changed-object at merge(catalog.model.debug, { layers = 3 }): This is a copy of catalog.model.debug with other values. To change a model, write a block: model "NAME" { base = catalog.model.debug … }.
}

model "d" {
  base = var.window ? catalog.model.debug : null
}

locals {
  changed = { for k, v in catalog.model.debug : k => v }
}

model "e" {
  base = local.changed
}
