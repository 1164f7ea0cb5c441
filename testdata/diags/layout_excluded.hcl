job "j" { # ERROR: missing-argument at job "j": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "j": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "j": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "j": The block job needs a block training { … }. What is learned, from what, and how.
  constraints {
    layout {
      recompute         = { not = ["none", "selective", "full"] } # ERROR: out-of-range at { not = ["none", "selective", "full"] }: Nothing is left of "recompute": "not" excludes every value that there is. Take one out of it, or leave the argument out.
      sequence_parallel = { not = [true, false] } # ERROR: out-of-range at { not = [true, false] }: Nothing is left of "sequence_parallel": "not" excludes every value that there is. Take one out of it, or leave the argument out.
      recompute_method  = { not = "block" }
    }
  }
}
