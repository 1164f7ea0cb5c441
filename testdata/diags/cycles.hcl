locals {
  a = local.b + 1
  b = local.c
  c = model.m.layers

  self = local.self # ERROR: reference-cycle at local.self: These refer to one another in a circle, so none can be evaluated first: local.self → local.self. Break it at one of them.
}

model "m" {
  base = model.n
}

model "n" {
  layers = local.a # ERROR: reference-cycle at local.a: These refer to one another in a circle, so none can be evaluated first: local.a → local.b → local.c → model.m → model.n → local.a. Break it at one of them.
}

model "o" {
  base = model.o # ERROR: reference-cycle at model.o: These refer to one another in a circle, so none can be evaluated first: model.o → model.o. Break it at one of them.
}
