# Words of other tools are not the language's, but it knows what they stand for.
model "m" { # ERROR: missing-argument at model "m": The block model needs the argument "architecture". The family of models, which decides the implementation that a framework uses. # ERROR: missing-argument at model "m": The block model needs the argument "hidden_size". Width of the residual stream. # ERROR: missing-argument at model "m": The block model needs the argument "vocab_size". Tokens that the tokenizer knows.
  num_hidden_layers   = 32 # ERROR: unknown-argument at num_hidden_layers: The block model has no argument "num_hidden_layers". Did you mean "layers"?
  n_heads             = 32 # ERROR: unknown-argument at n_heads: The block model has no argument "n_heads". Did you mean "attention_heads"?
  num_key_value_heads = 8 # ERROR: unknown-argument at num_key_value_heads: The block model has no argument "num_key_value_heads". Did you mean "kv_heads"?
  intermediate_size   = 14336 # ERROR: unknown-argument at intermediate_size: The block model has no argument "intermediate_size". Did you mean "ffn_hidden_size"?
  seq_len             = 8192 # ERROR: unknown-argument at seq_len: The block model has no argument "seq_len". Did you mean "sequence_length"?
  rms_norm_eps        = 1e-5 # ERROR: unknown-argument at rms_norm_eps: The block model has no argument "rms_norm_eps". Did you mean "norm_epsilon"?

  moe { # ERROR: missing-argument at moe: The block moe needs the argument "expert_ffn_hidden_size". Width of one expert's inner layer.
    num_experts_per_tok = 2 # ERROR: unknown-argument at num_experts_per_tok: The block moe has no argument "num_experts_per_tok". Did you mean "top_k"?
    n_routed_experts    = 8 # ERROR: unknown-argument at n_routed_experts: The block moe has no argument "n_routed_experts". Did you mean "experts"?
  }
}

job "j" {
  model   = model.m
  cluster = catalog.cluster.single_gpu

  training { # ERROR: missing-block at training: The block training needs a block data { … }. What is read.
    gbs         = 64 # ERROR: unknown-argument at gbs: The block training has no argument "gbs". Did you mean "global_batch_size"?
    train_iters = 100 # ERROR: unknown-argument at train_iters: The block training has no argument "train_iters". Did you mean "steps"?
    dtype       = "float16" # ERROR: unknown-argument at dtype: The block training has no argument "dtype". Did you mean "precision"?
    precision   = "half" # ERROR: unknown-value at "half": "half" is not a value of "precision", which takes "bf16", "fp16", "fp32", "fp8", "mxfp8" or "nvfp4". Did you mean "fp16"?

    optimizer "adamw" {
      lr        = 1e-4 # ERROR: unknown-argument at lr: The block optimizer has no argument "lr". Did you mean "learning_rate"?
      clip_grad = 1 # ERROR: unknown-argument at clip_grad: The block optimizer has no argument "clip_grad". Did you mean "gradient_clipping"?
    }
    schedule "cosine" {
      min_lr = 1e-5 # ERROR: unknown-argument at min_lr: The block schedule has no argument "min_lr". Did you mean "minimum_learning_rate"?
    }
  }
  constraints {
    layout {
      tp  = 8 # ERROR: unknown-argument at tp: The block layout has no argument "tp". Did you mean "tensor_parallel"?
      pp  = 2 # ERROR: unknown-argument at pp: The block layout has no argument "pp". Did you mean "pipeline_parallel"?
      mbs = 1 # ERROR: unknown-argument at mbs: The block layout has no argument "mbs". Did you mean "micro_batch_size"?
      gas = 4 # ERROR: unknown-argument at gas: The block layout has no argument "gas". Did you mean "micro_batches"?
    }
  }
  slurm {
    walltime = "1h" # ERROR: unknown-argument at walltime: The block slurm has no argument "walltime". Did you mean "time"?
    env      = {} # ERROR: unknown-argument at env: The block slurm has no argument "env". Did you mean "environment"?
  }
  backend "torchtitan" {
    version = "0.3.0"
  }
}
