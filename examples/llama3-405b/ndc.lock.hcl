# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "llama3-405b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "979a78eaaaf829882eac9306999c15509aabcd1542288cd5e3964643b491248a"

  layout {
    tensor_parallel         = 8
    sequence_parallel       = true
    context_parallel        = 1
    pipeline_parallel       = 8
    virtual_pipeline        = 8
    pipeline_schedule       = "interleaved_1f1b"
    stage_layers            = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 256
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 8
    recompute               = "full"
    recompute_modules       = []
    recompute_method        = "block"
    recompute_layers        = 1
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
