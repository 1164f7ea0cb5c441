# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "deepseek-v3-gb200" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "82bf905d8cf3133aa78a8ae33fb4be2e5079773dc246e6dd3caa5fbda6bc83b5"

  layout {
    tensor_parallel         = 1
    sequence_parallel       = false
    context_parallel        = 1
    pipeline_parallel       = 4
    virtual_pipeline        = 4
    pipeline_schedule       = "interleaved_1f1b"
    stage_layers            = [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1]
    expert_parallel         = 64
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 64
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 64
    recompute               = "selective"
    recompute_modules       = ["layernorm", "mla_up_proj", "mlp", "moe_act"]
    recompute_method        = ""
    recompute_layers        = 0
  }

  execution {
    attention                = "fused"
    overlap_gradient_reduce  = true
    overlap_parameter_gather = true
    overlap_optimizer_gather = false
    overlap_tensor_parallel  = false
    overlap_expert_parallel  = true
    gradient_dtype           = "fp32"
    optimizer_state_dtype    = "fp32"
    cross_entropy            = "fused"
    loss_chunks              = 1
    cuda_graphs              = "attention+moe_router+moe_preprocess"
    compile                  = false
    moe_dispatcher           = "hybridep"
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
