# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "mixtral-8x22b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "e55c29ed99e15514cfc3e7f1f7e8ef20ebd298fbe959ae3f5e05bbff9f6fff48"

  layout {
    tensor_parallel         = 2
    sequence_parallel       = true
    context_parallel        = 1
    pipeline_parallel       = 8
    virtual_pipeline        = 1
    pipeline_schedule       = "1f1b"
    stage_layers            = [7, 7, 7, 7, 7, 7, 7, 7]
    expert_parallel         = 8
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 8
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 128
    recompute               = "selective"
    recompute_modules       = ["layernorm", "moe_act"]
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
