variable "size" {
  type        = string
  description = "Which Llama 3: 8b or 70b."

  validation {
    condition     = contains(["8b", "70b"], var.size)
    error_message = "There is a recipe for 8b and for 70b."
  }
}

variable "tokens" {
  type    = number
  default = 1e12
}

locals {
  recipes = {
    "8b"  = { batch = 512, rate = 3e-4 }
    "70b" = { batch = 1024, rate = 1.5e-4 }
  }
}

output "learning_rate" {
  value       = local.recipes[var.size].rate
  description = "The rate of the recipe, to start sweeps from."
}

job "pretrain" {
  model = catalog.model["llama3_${var.size}"]

  training {
    global_batch_size = local.recipes[var.size].batch
    tokens            = var.tokens

    optimizer "adamw" {
      learning_rate = local.recipes[var.size].rate
    }
    schedule "cosine" {
      warmup_steps          = 2000
      minimum_learning_rate = local.recipes[var.size].rate / 10
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
      path     = "${here.checkpoints}/llama3-${var.size}"
      interval = "30m"
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
  }

  slurm {
    time  = "24:00:00"
    chain = "until_done"
  }
}
