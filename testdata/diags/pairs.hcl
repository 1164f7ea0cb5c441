# Megatron-LM's data are pairs of files, named without their endings.
job "j" {
  model   = catalog.model.debug
  cluster = catalog.cluster.single_gpu

  training {
    global_batch_size = 8
    steps             = 10
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"

      source "a" {
        path = "/data/a_text_document.bin" # ERROR: invalid-value at "/data/a_text_document.bin": "/data/a_text_document.bin" is one file of two: data of format "megatron" are named without .bin and .idx. Write "/data/a_text_document".
      }
      source "b" {
        path = "/data/b.v1_text_document"
      }
      validation {
        path     = "/data/c_text_document.idx" # ERROR: invalid-value at "/data/c_text_document.idx": "/data/c_text_document.idx" is one file of two: data of format "megatron" are named without .bin and .idx. Write "/data/c_text_document".
        interval = 5
        steps    = 1
      }
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
  }
}
