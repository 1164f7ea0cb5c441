job "j" { # ERROR: missing-block at job "j": The block job needs a block training { … }. What is learned, from what, and how.
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  backend "megatron" {
    version = "core_v0.18.2"

    training {
      precision = "bf16" # ERROR: unknown-argument at precision: The block training has no argument "precision". Here it takes rerun_mode, and the blocks fp8, data, checkpoint, logging. An argument of that name belongs to job > training.

      checkpoint {
        keep_last = 2
      }
    }
  }
}
