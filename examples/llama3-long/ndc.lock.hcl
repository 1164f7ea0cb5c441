# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.

plan "llama3-long" "megatron" {
  since_version = "0.1.0-dev"
  inputs        = "f637b2a52de61f5d7e4ad5a1824f5879f291ca991e156b29b89fe906c1bb22df"

  layout {
    tensor_parallel         = 2
    sequence_parallel       = true
    context_parallel        = 4
    pipeline_parallel       = 1
    virtual_pipeline        = 1
    pipeline_schedule       = "none"
    stage_layers            = [32]
    expert_parallel         = 1
    expert_tensor_parallel  = 1
    data_parallel_replicate = 1
    data_parallel_shard     = 16
    zero_stage              = 1
    micro_batch_size        = 1
    micro_batches           = 2
    recompute               = "selective"
    recompute_modules       = ["layernorm", "mlp"]
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
