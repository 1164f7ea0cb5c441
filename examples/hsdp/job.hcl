# Llama 3.1 70B with hybrid sharding on 480 B200: the state is sharded over ten
# nodes and replicated six times, so that gathers of parameters stay in a group
# of 80 and only gradients cross all 60 nodes. Solar Open, a mixture of experts
# of 102B parameters, went from 4,267 to 5,400 tokens per second and GPU with
# this arrangement on as many nodes (technical report, section 3.3.2).

ndc {
  required_version = ">= 0.1"
}

variable "replicas" {
  type        = number
  description = "Copies of the sharded state"
  default     = 6
}

locals {
  nodes            = 60
  nodes_in_a_shard = local.nodes / var.replicas
}

cluster "b200" {
  base  = catalog.cluster.dgx_b200
  nodes = local.nodes
}

job "hsdp" {
  model   = catalog.model.llama3_1_70b
  cluster = cluster.b200

  training {
    global_batch_size = 960 # two sequences a GPU, 7.9 M tokens
    tokens            = 2e12
    precision         = "bf16"
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 1.5e-4
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1.0
    }

    schedule "wsd" {
      warmup_steps          = 2000
      decay_tokens          = 200e9
      decay_shape           = "linear"
      minimum_learning_rate = 1.5e-5
    }

    data {
      format  = "tokens"
      workers = 4

      source "web" {
        path   = "/data/web/llama3.bin"
        weight = 0.8
      }
      source "code" {
        path   = "/data/code/llama3.bin"
        weight = 0.2
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path      = "/checkpoints/hsdp"
      interval  = "30m"
      keep_last = 5
      async     = true
    }

    logging {
      interval         = 10
      tensorboard_path = "/logs/hsdp"
    }
  }

  constraints {
    layout {
      tensor_parallel         = 1
      context_parallel        = 1
      pipeline_parallel       = 1
      data_parallel_replicate = var.replicas
      data_parallel_shard     = local.nodes_in_a_shard * catalog.cluster.dgx_b200.gpus_per_node
    }
  }

  backend "torchtitan" {
    version = "0.2.2"

    container {
      image = "/images/torchtitan-0.2.sqsh"
    }
  }

  slurm {
    account   = "llm"
    partition = "b200"
    time      = "3-00:00:00"
    chain     = "until_done"

    container {
      mounts = ["/data:/data:ro", "/checkpoints:/checkpoints", "/logs:/logs"]
    }
  }
}
