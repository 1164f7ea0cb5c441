model { # ERROR: invalid-label at model: The block model needs a label, the model's name, for `model.NAME`: model "…" { … }.
  layers = 1
}

model "a" "b" { # ERROR: invalid-label at "b": The block model takes one label: model "…" { … }.
  layers = 1
}

model "3 b" { # ERROR: invalid-label at "3 b": "3 b" is not a name that references can use. A name has letters, digits, underscores and hyphens and starts with a letter.
  layers = 1
}

locals "x" { # ERROR: invalid-label at "x": The block locals takes no label: locals { … }.
}

job "-x/../y" { # ERROR: missing-argument at job "-x/../y": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "-x/../y": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "-x/../y": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "-x/../y": The block job needs a block training { … }. What is learned, from what, and how. # ERROR: invalid-label at "-x/../y": "-x/../y" cannot name a job, because the name becomes paths and the Slurm job's name. It must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}: letters, digits, dots, underscores and hyphens, at most 64, not starting with a sign.
}

model "m" {
  position_embedding "rotary" { # ERROR: unknown-value at "rotary": There is no position_embedding "rotary". The labels are "rope", "learned", "alibi" or "none". Did you mean "rope"?
  }
  position_embedding { # ERROR: duplicate-block at position_embedding: The position_embedding block may stand only once here; the first is at line 20. Merge the two. # ERROR: invalid-label at position_embedding: The block position_embedding needs a label, the kind: position_embedding "…" { … }. The labels are "rope", "learned", "alibi" or "none".
  }
}

cluster "c" {
  network "fast" { # ERROR: invalid-label at "fast": The block network takes no label: network { … }.
  }
}

model "m" { # ERROR: duplicate-block at model "m": model "m" is already defined at job.hcl:19. Names are unique over all files of a folder.
}
