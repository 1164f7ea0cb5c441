# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "llama3-8b" "deepspeed" {
  since_version = "0.1.0-dev"
  inputs        = "d773f53c15c4d1c57087afba780619eba115393ad545f62ce98287b7a0aa5745"

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
    data_parallel_shard     = 8
    zero_stage              = 3
    micro_batch_size        = 1
    micro_batches           = 16
    recompute               = "full"
    recompute_modules       = []
    recompute_method        = "block"
    recompute_layers        = 7
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

plan "llama3-8b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "df80ff5d596cc86fa076f3abc1065bb6ad2151693a14952c016f79f39602fb3c"

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
    data_parallel_shard     = 4
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 32
    recompute               = "none"
    recompute_modules       = []
    recompute_method        = ""
    recompute_layers        = 0
  }

  execution {
    attention                = "fused"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true
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

plan "llama3-8b" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "0f788c7c01abfaae2132e86834f6c9e0572bee32b961cb850514d6c3df3d8fbe"

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
    data_parallel_shard     = 8
    zero_stage              = 2
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
