# DeepSeek-V3's latent attention in a model small enough for the CPU. The test sets the variables.

variable "length" {
  type = number
}

variable "version" {
  type = string
}

cluster "local" {
  base          = catalog.cluster.dgx_h100
  nodes         = 1
  gpus_per_node = 1
}

model "latent" {
  base            = catalog.model.deepseek_v3
  layers          = 2
  hidden_size     = 64
  ffn_hidden_size = 176
  attention_heads = 4
  vocab_size      = 512
  sequence_length = var.length
  mtp_layers      = 0

  moe {
    experts                       = 16
    top_k                         = 2
    expert_ffn_hidden_size        = 48
    first_dense_layers            = 1
    shared_expert_ffn_hidden_size = 48
  }
}

job "latent" {
  model   = model.latent
  cluster = cluster.local

  training {
    global_batch_size = 8
    steps             = 6
    precision         = "bf16"

    optimizer "adamw" {
      learning_rate = 3e-3
    }
    data {
      mock = true
    }
  }
  backend "torchtitan" {
    version = var.version
  }
}
