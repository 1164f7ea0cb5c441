model "m" { # ERROR: missing-argument at model "m": The block model needs the argument "attention_heads". Query heads. # ERROR: missing-argument at model "m": The block model needs the argument "sequence_length". Tokens per training sequence. # ERROR: missing-argument at model "m": The block model needs the argument "vocab_size". Tokens that the tokenizer knows.
  architecture = "llama"
  layers       = 2
  hidden_size  = 64

  moe { # ERROR: missing-argument at moe: The block moe needs the argument "expert_ffn_hidden_size". Width of one expert's inner layer. # ERROR: missing-argument at moe: The block moe needs the argument "top_k". Experts that see each token.
    experts = 2

    router {
      balance = "bias"
    }
  }
}

cluster "c" { # ERROR: missing-argument at cluster "c": The block cluster needs the argument "gpus_per_node". GPUs in a node. # ERROR: missing-argument at cluster "c": The block cluster needs the argument "nodes". Nodes of this run.
  gpu = catalog.gpu.h100_sxm

  network { # ERROR: missing-argument at network: The block network needs the argument "bandwidth". Per adapter, one direction. # ERROR: missing-argument at network: The block network needs the argument "nics_per_node". Network adapters of a node that the job uses.
    kind = "roce"
  }
}

job "j" {
  model   = model.m
  cluster = cluster.c

  training { # ERROR: missing-argument at training: The block training needs the argument "global_batch_size". Sequences per optimizer step.
    optimizer "adamw" { # ERROR: missing-argument at optimizer "adamw": The block optimizer needs the argument "learning_rate". Peak learning rate.
    }
    data {
      source "a" { # ERROR: missing-argument at source "a": The block source needs the argument "path". Where it lies on the cluster: of format `megatron` what both names have in common, without .bin and .idx; else a file, or a folder of `*.bin` or `*.jsonl` files, read in the order of their names.
      }
    }
    checkpoint { # ERROR: missing-argument at checkpoint: The block checkpoint needs the argument "path". Folder on the cluster; the backend's name is appended.
      interval = "often" # ERROR: invalid-value at "often": "interval" is a number of steps such as 500, a time such as "30m", or "auto"; "often" is neither.
    }
    logging {
      wandb { # ERROR: missing-argument at wandb: The block wandb needs the argument "project". The project.
      }
    }
  }
  backend "megatron" { # ERROR: missing-argument at backend "megatron": The block backend needs the argument "version". The framework's version as it spells it, such as `"core_v0.18.2"`.
  }
  backend "megatron" { # ERROR: duplicate-block at backend "megatron": The block backend "megatron" may stand only once here; the first is at line 42. Merge the two.
    version = "x"
  }
  backend "megatrn" { # ERROR: unknown-value at "megatrn": There is no backend "megatrn". The labels are "megatron", "torchtitan" or "deepspeed". Did you mean "megatron"?
    version = "x"
  }
}

job "k" { # ERROR: missing-argument at job "k": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "k": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "k": The block job needs a block training { … }. What is learned, from what, and how.
  cluster = catalog.cluster.dgx_h100 # ERROR: missing-argument at catalog.cluster.dgx_h100: The block cluster needs the argument "nodes". Nodes of this run. The catalogue leaves it to you: write a block cluster "NAME" { … } with base = catalog.cluster.dgx_h100 and nodes = ….
}
