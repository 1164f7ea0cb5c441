job "a" {
  base    = job.b
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu
  training {
    global_batch_size = 8
    steps             = 10
    optimizer "adamw" {
      learning_rate = each.value # ERROR: unknown-reference at each.value: "each" is what one element of for_each has, and the block around this has no for_each.
    }
    data {
      mock = true
    }
    checkpoint {
      path = "/checkpoints"
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
job "b" {
  base = job.a # ERROR: reference-cycle at job.a: Each of these jobs has the next as its base: job.a → job.b → job.a. Break the circle at one of them.
}
job "c" {
  base    = job.d # ERROR: inapplicable-argument at job.d: job.d has for_each, so it is many jobs and the base of none. Write what they share as a job of its own.
  without = ["backend.deepsped", "trainings", "training.checkpoints", "slurm.environment"] # ERROR: unknown-value at "backend.deepsped": A backend has no block or argument "deepsped" to leave out. Did you mean "deepspeed"? # ERROR: unknown-value at "trainings": A job has no block or argument "trainings" to leave out. Did you mean "training"? # ERROR: unknown-value at "training.checkpoints": A training has no block or argument "checkpoints" to leave out. Did you mean "checkpoint"?
}
job "c2" {
  base = job.d["x"] # ERROR: unknown-reference at ["x"]: No element of a job can be named: one with for_each or count is many jobs, and the base of none. Write what they share as a job of its own.
}
job "d" {
  for_each = { x = 1 }
  base     = model.m # ERROR: unknown-reference at model.m: There is no model block "m". No file defines one.
}
job "e" { # ERROR: missing-argument at job "e": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "e": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "e": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "e": The block job needs a block training { … }. What is learned, from what, and how.
  without = ["slurm"] # ERROR: inapplicable-argument at ["slurm"]: "without" drops blocks of a base, and there is no base. Remove it.
}
job "f" {
  for_each = ["a", "b"] # ERROR: wrong-type at ["a", "b"]: for_each takes a map, of which each entry makes one, or a set of text, such as toset(["a", "b"]); not a list.
}
job "h" {
  count = 2.5 # ERROR: wrong-type at 2.5: count takes a whole number, not 2.5.
}
job "i" {
  count    = 2 # ERROR: conflicting-arguments at count: Either "for_each" or "count" says how many there are, not both. Remove one.
  for_each = {}
}
job "j" {
  for_each = { "k l" = 1 } # ERROR: invalid-label at { "k l" = 1 }: "j-k l" cannot name a job, because the name becomes paths and the Slurm job's name. It must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}: letters, digits, dots, underscores and hyphens, at most 64, not starting with a sign.
}
job "d-x" { # ERROR: duplicate-block at "d-x": This makes a job "d-x", and so does the job block at job.hcl:35. The name of an element is LABEL-KEY; change a label or a key.
  base = job.a.training
}
job "k" { # ERROR: missing-argument at job "k": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-block at job "k": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "k": The block job needs a block training { … }. What is learned, from what, and how.
  count = 1
  model = each.value # ERROR: unknown-reference at each.value: "each" is what one element of for_each has, and the block around this has no for_each.
}
job "l" {
  for_each = { x = count.index } # ERROR: unknown-reference at count.index: "count" is what one element of count has, and the block around this has no count.
  model    = each.values
}
job "m" {
  count = job.a # ERROR: wrong-type at job.a: count takes a whole number, not a job.
}
job "n" {
  for_each = job.a # ERROR: wrong-type at job.a: for_each takes a map, of which each entry makes one, or a set of text, such as toset(["a", "b"]); not a job.
}
job "o" {
  for_each = toset([1, null]) # ERROR: wrong-type at toset([1, null]): for_each takes a map, of which each entry makes one, or a set of text, such as toset(["a", "b"]); not a set of numbers.
}
job "q" {
  for_each = toset([1, 2]) # ERROR: wrong-type at toset([1, 2]): for_each takes a map, of which each entry makes one, or a set of text, such as toset(["a", "b"]); not a set of numbers.
}
job "r" {
  for_each = toset([{ a = 1 }]) # ERROR: wrong-type at toset([{ a = 1 }]): for_each takes a map, of which each entry makes one, or a set of text, such as toset(["a", "b"]); not a set.
}
job "p" {
  count = 1001 # ERROR: file-too-large at 1001: count is 1001; it is at most 1000.
}
