# How the team pre-trains.
variable "tokens" {
  type = number
}

job "pretrain" {
  training {
    global_batch_size = 1024
    tokens            = var.tokens
    seed              = 1234

    optimizer "adamw" {
      learning_rate = 3e-4
      weight_decay  = 0.1
    }
    schedule "cosine" {
      warmup_steps          = 2000
      minimum_learning_rate = 3e-5
    }
    data {
      format = "megatron"

      source "web" {
        path = "${here.data}/web/text_document"
      }
      tokenizer "huggingface" {
        path = "${here.data}/tokenizers/llama3"
      }
    }
    checkpoint {
      path     = "${here.checkpoints}/pretrain"
      interval = "30m"
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron-lm"
  }
}

policy "efficiency" {
  condition     = plan.throughput.mfu >= 0.3
  error_message = "A pre-training run below 30 % MFU wastes what was granted."
}
