# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "qwen3-30b-a3b" "deepspeed" {
  since_version = "0.1.0-dev"
  inputs        = "0e6a27e9a7fb6b595c96d947dea2580c066b3a76c93d37803dbb1931de0653fa"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [48]
    expert_parallel         = 8
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 8
    zero_stage              = 2
    micro_batch_size        = 2
    micro_batches           = 32
    recompute               = "full"
    recompute_modules       = []
    recompute_method        = "block"
    recompute_layers        = 24
  }

  execution {
    attention                = "flash"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = false
    overlap_optimizer_gather = false
    overlap_tensor_parallel  = false
    overlap_expert_parallel  = false
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "unfused"
    loss_chunks              = 8
    cuda_graphs              = "none"
    compile                  = false
    moe_dispatcher           = "alltoall"
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

plan "qwen3-30b-a3b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "7120aa5eb4c8a3a8c29430469b4d16cf13a0976dd6c7de9290438db7943f77e5"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [48]
    expert_parallel         = 8
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 8
    zero_stage              = 1
    micro_batch_size        = 2
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
    moe_dispatcher           = "alltoall"
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

plan "qwen3-30b-a3b" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "072cec1cc99c1334e84236b76f3db33e0bd73b97f66e95b0c88e8b7930f40234"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [48]
    expert_parallel         = 4
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 8
    zero_stage              = 3
    micro_batch_size        = 8
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
    moe_dispatcher           = "alltoall"
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
