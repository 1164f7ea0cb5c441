model "a" {
  layer        = 32 # ERROR: unknown-argument at layer: The block model has no argument "layer". Did you mean "layers" or "layer_pattern"?
  hiden_size   = 4096 # ERROR: unknown-argument at hiden_size: The block model has no argument "hiden_size". Did you mean "hidden_size"?
  moe          = true # ERROR: unknown-argument at moe: "moe" is a block: write moe { … }, without the equals sign.
  partition    = "h100" # ERROR: unknown-argument at partition: The block model has no argument "partition". It takes base, without, sources, architecture, layers, layer_pattern, hidden_size, ffn_hidden_size, attention_heads, kv_heads, …. An argument of that name belongs to job > slurm or site > slurm.
  kv_head_size = 3 # ERROR: unknown-argument at kv_head_size: The block model has no argument "kv_head_size". Did you mean "kv_heads"?
  kv_heads     = 8

  attention_heads { # ERROR: unknown-block at attention_heads: "attention_heads" is an argument: write attention_heads = …, with an equals sign.
  }
  mixture { # ERROR: unknown-block at mixture: The block model has no block "mixture". It takes position_embedding, sliding_window, mla, mamba, delta_net, moe, built_by.
  }
}

cluster "b" {
  nodes = 4

  nvlink {
    domain = 8

    bandwith { # ERROR: unknown-block at bandwith: The block nvlink has no block "bandwith". Did you mean "bandwidth"?
    }
  }
  nvlink { # ERROR: duplicate-block at nvlink: The nvlink block may stand only once here; the first is at line 18. Merge the two.
    domain = 8
  }
}

models "c" { # ERROR: unknown-block at models: The top of a file has no block "models". Did you mean "model"?
}

run "t" { # ERROR: unknown-block at run: The top of a file has no block "run". Tests stand in files of their own beside the jobs, NAME.ndctest.hcl.
}

layers = 3 # ERROR: unknown-argument at layers: The top of a file has no argument "layers". An argument of that name belongs to model.
