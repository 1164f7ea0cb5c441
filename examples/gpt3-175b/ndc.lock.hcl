# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "gpt3-175b" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "0ce7f6bda5dbd0f349889a7e886c1c1aa050c9a6418b40ff6b75adb029cf3f89"

  layout {
    tensor_parallel         = 8
    sequence_parallel       = true
    context_parallel        = 1
    pipeline_parallel       = 4
    virtual_pipeline        = 6
    pipeline_schedule       = "interleaved_1f1b"
    stage_layers            = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 32
    zero_stage              = 1
    micro_batch_size        = 2
    micro_batches           = 24
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
