# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "tiny" "deepspeed" {
  since_version = "0.1.0-dev"
  inputs        = "a71c35a145e65d498f47e61424c39cbd2511f0e22e3bc4b85cc05467f1baba07"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [4]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 1
    zero_stage              = 0
    micro_batch_size        = 32
    micro_batches           = 1
    recompute               = "none"
    recompute_modules       = []
    recompute_method        = ""
    recompute_layers        = 0
  }

  execution {
    attention                = "flash"
    overlap_gradient_reduce  = false
    overlap_parameter_gather = false
    overlap_optimizer_gather = false
    overlap_tensor_parallel  = false
    overlap_expert_parallel  = false
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "unfused"
    loss_chunks              = 1
    cuda_graphs              = "none"
    compile                  = false
    moe_dispatcher           = ""
    context_parallel_type    = ""
    reshard_after_forward    = false
    fully_sharded            = false
    shard_buffers            = ""
    sharp                    = "none"
    zero_hpz_partition       = 1
    offload_optimizer        = false
    offload_parameters       = false
    offload_activations      = false
  }
}

plan "tiny" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "cf1b8fd3ab930c64227ef777515296ce9d9ef2cae30b98f5fda53e07a520d85c"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [4]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 1
    zero_stage              = 0
    micro_batch_size        = 32
    micro_batches           = 1
    recompute               = "none"
    recompute_modules       = []
    recompute_method        = ""
    recompute_layers        = 0
  }

  execution {
    attention                = "fused"
    overlap_gradient_reduce  = false
    overlap_parameter_gather = false
    overlap_optimizer_gather = false
    overlap_tensor_parallel  = false
    overlap_expert_parallel  = false
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "fused"
    loss_chunks              = 1
    cuda_graphs              = "none"
    compile                  = false
    moe_dispatcher           = ""
    context_parallel_type    = ""
    reshard_after_forward    = false
    fully_sharded            = false
    shard_buffers            = ""
    sharp                    = "none"
    zero_hpz_partition       = 1
    offload_optimizer        = false
    offload_parameters       = false
    offload_activations      = false
  }
}

plan "tiny" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "8f08e62dd8b43842614ae41472a04439931cedc4126166860be5f3215bfddd01"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [4]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 1
    zero_stage              = 0
    micro_batch_size        = 32
    micro_batches           = 1
    recompute               = "none"
    recompute_modules       = []
    recompute_method        = ""
    recompute_layers        = 0
  }

  execution {
    attention                = "flash"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true
    overlap_optimizer_gather = false
    overlap_tensor_parallel  = false
    overlap_expert_parallel  = false
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "unfused"
    loss_chunks              = 1
    cuda_graphs              = "none"
    compile                  = true
    moe_dispatcher           = ""
    context_parallel_type    = ""
    reshard_after_forward    = false
    fully_sharded            = false
    shard_buffers            = ""
    sharp                    = "none"
    zero_hpz_partition       = 1
    offload_optimizer        = false
    offload_parameters       = false
    offload_activations      = false
  }
}
