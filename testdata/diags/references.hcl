variable "nodes" {
  default = 4
}

locals {
  a     = var.node # ERROR: unknown-reference at var.node: There is no variable "node". Did you mean "nodes"?
  b     = locals.a # ERROR: unknown-reference at locals: References start with "var", "local", "model", "cluster", "gpu", "catalog", "job", "module", "site", "here", "each" or "count", not "locals". Did you mean "local"?
  c     = local.batch_sizes # ERROR: unknown-reference at local.batch_sizes: There is no local "batch_sizes". Known: a, b, c, d, e, f, g, h, batch, i, j, k.
  d     = catalog.model.llama3_70 # ERROR: unknown-reference at catalog.model.llama3_70: The catalogue has no model "llama3_70". Did you mean "llama3_70b"?
  e     = catalog.models.llama3_70b # ERROR: unknown-reference at catalog.models: The catalogue has no kind "models". Did you mean "model"?
  f     = model.x.layer # ERROR: unknown-reference at .layer: There is no "layer" in this model. Did you mean "layers" or "layer_pattern"?
  g     = something.else # ERROR: unknown-reference at something: References start with "var", "local", "model", "cluster", "gpu", "catalog", "job", "module", "site", "here", "each" or "count", not "something".
  h     = 1 + bf16 # ERROR: unquoted-text at bf16: Nothing is called bf16. If it is text, write it in quotes: "bf16".
  batch = 3
  i     = gpu.h100 # ERROR: unknown-reference at gpu.h100: There is no gpu block "h100". No file defines one.
  j     = catalog.model[var.nodes] # ERROR: invalid-expression at [var.nodes]: The given key does not identify an element in this collection value. An object only supports looking up attributes by name, not by numeric index.
  k     = catalog.cluster[format("dgx_%s", "h10")] # ERROR: invalid-expression at [format("dgx_%s", "h10")]: The given key does not identify an element in this collection value. catalog.cluster has no "dgx_h10". Did you mean "dgx_h100"?
}

model "x" {
  base       = catalog.gpu.h200 # ERROR: wrong-type at catalog.gpu.h200: A model is needed here, not a gpu. Write model.NAME for one of these files, or catalog.model.NAME for a built-in one.
  activation = swiglu # ERROR: unquoted-text at swiglu: Nothing is called swiglu. If it is text, write it in quotes: "swiglu".
}

model "y" {
  base = "llama3_8b" # ERROR: wrong-type at "llama3_8b": A model is needed here, not the text "llama3_8b". Write catalog.model.llama3_8b, without quotes.
}

cluster "z" {
  gpu = catalog.cluster.dgx_h100 # ERROR: wrong-type at catalog.cluster.dgx_h100: A gpu is needed here, not a cluster. Write gpu.NAME for one of these files, or catalog.gpu.NAME for a built-in one.
}
