# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "llama3-70b" "deepspeed" {
  since_version = "0.1.0-dev"
  inputs        = "3f15aa44b1b5dd4d95e08ba51d889aa81fe8e580c66bbfae475b7240e1fc731f"

  layout {
    tensor_parallel         = 2
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [80]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 128
    zero_stage              = 3
    micro_batch_size        = 2
    micro_batches           = 4
    recompute               = "full"
    recompute_modules       = []
    recompute_method        = "uniform"
    recompute_layers        = 1
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

plan "llama3-70b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "61f14e39d7552778543b5c7e74f25af4ef670021d29f76559d4b159cfedffd4d"

  layout {
    tensor_parallel         = 4
    sequence_parallel       = true
    context_parallel        = 2
    pipeline_parallel       = 4
    virtual_pipeline        = 5
    pipeline_schedule       = "interleaved_1f1b"
    stage_layers            = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 8
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 128
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
    overlap_tensor_parallel  = true
    overlap_expert_parallel  = false
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "fused"
    loss_chunks              = 1
    cuda_graphs              = "none"
    compile                  = false
    moe_dispatcher           = ""
    context_parallel_type    = "ring"
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

plan "llama3-70b" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "2170096c9a5a52185e96422f4f56d8a82a5643d7e4363965c5506d400eae1d4c"

  layout {
    tensor_parallel         = 2
    sequence_parallel       = true
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [80]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 128
    zero_stage              = 3
    micro_batch_size        = 1
    micro_batches           = 8
    recompute               = "selective"
    recompute_modules       = ["op"]
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
