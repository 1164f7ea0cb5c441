# Llama 3 70B on eight A100: 70.6B parameters need more than the 640 GB of one
# node, whatever the layout. ndc says which line of memory is too much, by how
# much, which layouts come nearest and which change would make it fit; it exits
# with 2 and writes nothing.

ndc {
  required_version = ">= 0.1"
}

cluster "node" {
  base  = catalog.cluster.dgx_a100
  nodes = 1
}

job "does-not-fit" {
  model   = catalog.model.llama3_70b
  cluster = cluster.node

  training {
    global_batch_size = 64
    tokens            = 10e9
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

    schedule "cosine" {
      warmup_steps          = 100
      minimum_learning_rate = 1.5e-5
    }

    data {
      format = "megatron"

      source "fineweb" {
        path = "/data/fineweb/text_document"
      }
      tokenizer "huggingface" {
        path = "/data/tokenizers/llama3"
      }
    }

    checkpoint {
      path     = "/checkpoints/does-not-fit"
      interval = "1h"
    }

    logging {
      interval = 10
    }
  }

  # However the node is cut, each GPU holds an eighth of the state.
  constraints {
    layout {
      tensor_parallel   = [4, 8]
      context_parallel  = 1
      pipeline_parallel = [1, 2]
      micro_batch_size  = 1
    }
  }

  # The processors of this node are busy with the data.
  execution {
    offload {
      optimizer  = false
      parameters = false
    }
  }

  backend "megatron" {
    version = "core_v0.18.2"
    path    = "/opt/megatron-lm"
  }

  slurm {
    account   = "llm"
    partition = "a100"
    time      = "24:00:00"
  }
}
