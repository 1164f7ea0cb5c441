model "heads" {
  base            = catalog.model.llama3_8b
  attention_heads = 6 # ERROR: inconsistent-model at 6: 6 attention heads cannot share the base's 8 key and value heads evenly; attention_heads must be a multiple of kv_heads. Set kv_heads, too.
}

model "width" {
  base        = catalog.model.gpt3_1_7b
  hidden_size = 1001
}

model "experts" {
  base = catalog.model.qwen3_30b_a3b

  moe {
    experts = 4 # ERROR: inconsistent-model at 4: A token cannot go to 8 of 4 experts; top_k is at most experts.
  }
}

model "layers" {
  base   = catalog.model.deepseek_v3
  layers = 2 # ERROR: inconsistent-model at 2: 3 dense layers leave none of the model's 2 layers to the experts. For a dense model, leave the moe block out, or drop the base's with without = ["moe"].
}

cluster "c" {
  base          = catalog.cluster.dgx_h100
  nodes         = 2
  gpus_per_node = 12 # ERROR: inconsistent-cluster at 12: NVLink domains of 8 GPUs and nodes of 12 do not fit: one must be a multiple of the other.

  network {
    gpus_per_pod = 256 # ERROR: inconsistent-cluster at 256: Pods of 256 GPUs cannot be made of nodes of 12.
  }
}

locals {
  models = { heads = model.heads, width = model.width, experts = model.experts, layers = model.layers }
}

job "j" {
  for_each = local.models
  model    = each.value
  cluster  = cluster.c

  training {
    global_batch_size = 8
    steps             = 100

    optimizer "adamw" {
      learning_rate = 1e-3
    }

    data {
      mock = true
    }
  }

  backend "torchtitan" {
    version = "0.3.0"
  }
}
