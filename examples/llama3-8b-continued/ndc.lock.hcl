# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "llama3-8b-continued" "deepspeed" {
  since_version = "0.1.0-dev"
  inputs        = "634c67c58c3c997f219df7c32cf8c07096ecc66698cac916464972728eb83339"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [32]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 32
    zero_stage              = 3
    micro_batch_size        = 1
    micro_batches           = 16
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
    loss_chunks              = 8
    cuda_graphs              = "none"
    compile                  = false
    moe_dispatcher           = ""
    context_parallel_type    = ""
    reshard_after_forward    = true
    fully_sharded            = false
    shard_buffers            = ""
    sharp                    = "none"
    zero_hpz_partition       = 1
    offload_optimizer        = false
    offload_parameters       = false
    offload_activations      = false
  }
}

plan "llama3-8b-continued" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "290ffdfb1aec9e77e2bcb8232579d2e35fdb16ebe18dd5f231b8f3b8bfedba77"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 2
    virtual_pipeline        = 1
    pipeline_schedule       = "1f1b"
    stage_layers            = [17, 15]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 16
    zero_stage              = 2
    micro_batch_size        = 1
    micro_batches           = 32
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
    loss_chunks              = 8
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
