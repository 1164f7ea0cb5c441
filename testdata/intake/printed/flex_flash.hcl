model "printed" {
  architecture    = "llama"
  layers          = 4
  hidden_size     = 64
  ffn_hidden_size = 176
  attention_heads = 4
  kv_heads        = 2
  head_dim        = 16
  vocab_size      = 512
  sequence_length = 128
  max_positions   = 256
  norm_epsilon    = 1e-5
  init_std        = 0.02
  tied_embeddings = false
  qkv_bias        = false
  mlp_bias        = false
  qk_norm         = false

  position_embedding "rope" {
    theta = 500000
  }
}

cluster "cluster" {
  base          = catalog.cluster.dgx_h100
  nodes         = 1
  gpus_per_node = 2
}

job "printed" {
  model   = model.printed
  cluster = cluster.cluster

  training {
    global_batch_size = 8
    steps             = 6
    precision         = "bf16" # linear layers in 8 or 4 bits are not printed: say so here
    seed              = 1234

    optimizer "adamw" {
      learning_rate     = 0.003
      weight_decay      = 0.1
      beta1             = 0.9
      beta2             = 0.95
      epsilon           = 1e-8
      gradient_clipping = 1
    }

    schedule "cosine" {
      warmup_steps          = 2
      minimum_learning_rate = 3e-4
    }

    data {
      mock = true # what to train on is not known
    }

    checkpoint {
      path      = "/checkpoints/small"
      interval  = 3
      keep_last = 0
    }

    logging {
      interval = 1
    }

    timeout {
      collective = "901s"
      first_step = "1801s"
    }
  }

  constraints {
    layout {
      tensor_parallel         = 1
      sequence_parallel       = true
      context_parallel        = 1
      pipeline_parallel       = 1
      expert_parallel         = 1
      data_parallel_replicate = 1
      data_parallel_shard     = 2
      zero_stage              = 3
      micro_batch_size        = 1
      recompute               = "selective"
      recompute_modules       = ["op"]
    }
  }

  execution {
    attention               = "flex_flash"
    overlap_tensor_parallel = false
    gradient_dtype          = "fp32"
    loss_chunks             = 8
    cuda_graphs             = "none"
    compile                 = true

    offload {
      parameters = false
    }
  }

  backend "torchtitan" {
    version = "0.3.0"
  }
}
