cluster "old" {
  base  = catalog.cluster.dgx_a100
  nodes = 1
}

cluster "hopper" {
  base  = catalog.cluster.dgx_h100
  nodes = 1
}

gpu "volta" {
  base = catalog.gpu.v100_32gb
}

cluster "volta" {
  base  = catalog.cluster.dgx_a100
  gpu   = gpu.volta
  nodes = 1
}

job "a" {
  model   = catalog.model.debug
  cluster = cluster.old

  training {
    global_batch_size = 8
    steps             = 100
    precision         = "fp8" # ERROR: unsupported-precision at "fp8": The GPU a100_80gb has no fp8 arithmetic; it has bf16, fp16, fp32. Of the catalogue's GPUs, these have fp8: b200, b300, gb200, gb300, gh200, gh200_680w, h100_64gb, h100_96gb_500w, h100_nvl, h100_pcie, h100_sxm, h20, h200, h800, l4, l40s, rtx_4090, rtx_pro_6000_server.

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "b" {
  model   = catalog.model.debug
  cluster = cluster.hopper

  training {
    global_batch_size = 8
    steps             = 100
    precision         = "mxfp8" # ERROR: unsupported-precision at "mxfp8": The GPU h100_sxm has no mxfp8 arithmetic; it has bf16, fp16, fp32, fp8. Of the catalogue's GPUs, these have mxfp8: b200, b300, gb200, gb300.

    fp8 {
      recipe            = "delayed" # ERROR: inapplicable-argument at "delayed": The recipe belongs to precision "fp8"; mxfp8 has its own. Remove it.
      bf16_first_layers = 100 # ERROR: inconsistent-training at 100: 100 first and 0 last layers in bf16 leave none of 4 in mxfp8.
    }
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "c" {
  model   = catalog.model.debug
  cluster = cluster.volta

  training { # ERROR: unsupported-precision at training: The GPU volta has no bf16 arithmetic; it has fp16, fp32. Of the catalogue's GPUs, these have bf16: a100_40gb, a100_64gb, a100_80gb, a100_pcie_80gb, a10g, b200, b300, gb200, gb300, gh200, gh200_680w, h100_64gb, h100_96gb_500w, h100_nvl, h100_pcie, h100_sxm, h20, h200, h800, l4, l40s, rtx_4090, rtx_pro_6000_server.
    global_batch_size = 8
    steps             = 100

    fp8 { # ERROR: inapplicable-argument at fp8: The fp8 block has no effect with precision "bf16". Set precision = "fp8", "mxfp8" or "nvfp4", or remove the block.
      recipe = "blockwise"
    }
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}

job "d" {
  model   = catalog.model.debug
  cluster = cluster.hopper

  training { # ERROR: missing-block at training: The block training needs a block data { … }. What is read. # ERROR: missing-block at training: The block training needs a block optimizer "…" { … }. How gradients change the weights.
    global_batch_size = 8
    steps             = 100
    precision         = "bfloat16" # ERROR: unknown-value at "bfloat16": "bfloat16" is not a value of "precision", which takes "bf16", "fp16", "fp32", "fp8", "mxfp8" or "nvfp4". Did you mean "bf16"?
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
}
