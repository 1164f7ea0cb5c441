# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "hsdp" "torchtitan" {
  since_version = "0.1.0-dev"
  inputs        = "60d5d9b5c7fc359615affc2f0de8a077ea18d63e155a0f759246183cc3a39abb"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [80]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 6
    data_parallel_shard     = 80
    zero_stage              = 3
    micro_batch_size        = 1
    micro_batches           = 2
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
    loss_chunks              = 1
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
