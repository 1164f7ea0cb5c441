locals {
  rates = { low = 1e-4, high = 3e-4, "low" = 2e-4 } # ERROR: duplicate-block at "low": The key "low" already stands at job.hcl:2 in these braces, and only one of the two values would be used.
  deep = [for k, v in local.rates : {
    k       = v
    "k"     = 1 # ERROR: duplicate-block at "k": The key "k" already stands at job.hcl:4 in these braces, and only one of the two values would be used.
    (k)     = v
    (k)     = v # known later, as it is computed
    "${k}"  = v
    "${k}x" = { a = 1, b = 2, a = 1 } # ERROR: duplicate-block at a: The key "a" already stands at job.hcl:9 in these braces, and only one of the two values would be used.
  }]
  fine = [{ a = 1 }, { a = 1 }]
}
