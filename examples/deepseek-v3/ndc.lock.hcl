# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "deepseek-v3" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "5ba643fa98eca68e3a44fb93ca298cd6f1abf51c50970f2082c212a457a012cb"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 16
    virtual_pipeline        = 1
    pipeline_schedule       = "1f1b"
    stage_layers            = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1]
    expert_parallel         = 16
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 128
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 120
    recompute               = "full"
    recompute_modules       = []
    recompute_method        = "block"
    recompute_layers        = 3
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
    moe_dispatcher           = "deepep"
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
