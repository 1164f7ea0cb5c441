job "j" { # ERROR: missing-argument at job "j": The block job needs the argument "cluster". Where it runs: `cluster.NAME` or `catalog.cluster.NAME`. Needed unless the site has one. # ERROR: missing-argument at job "j": The block job needs the argument "model". What is trained: `model.NAME` or `catalog.model.NAME`. # ERROR: missing-block at job "j": A job needs at least one block backend "…" { version = … }. The backends are "megatron", "torchtitan" or "deepspeed". # ERROR: missing-block at job "j": The block job needs a block training { … }. What is learned, from what, and how.
  constraints {
    objective   = "speed" # ERROR: unknown-value at "speed": "speed" is not a value of "objective", which takes "throughput", "memory", "time", "gpu_hours" or "cost". Did you mean "throughput"?
    nvlink_only = ["tensor", "context_parallel"] # ERROR: unknown-value at "tensor": "tensor" is not a value of "nvlink_only", which takes "tensor_parallel", "context_parallel", "pipeline_parallel", "expert_parallel", "expert_tensor_parallel", "data_parallel_replicate" or "data_parallel_shard". Did you mean "tensor_parallel"?

    layout {
      tensor_parallel         = [2, 0, "x"] # ERROR: out-of-range at 0: "tensor_parallel" must be at least 1, not 0. # ERROR: wrong-type at "x": "tensor_parallel" must be a whole number, not the text "x".
      context_parallel        = { min = 4, max = 2 } # ERROR: out-of-range at { min = 4, max = 2 }: The range of "context_parallel" is empty: it is to be at least 4 and at most 2.
      pipeline_parallel       = [] # ERROR: out-of-range at []: The list of "pipeline_parallel" is empty, so no layout can be legal. Leave the argument out to leave the choice to ndc.
      expert_parallel         = { from = 2 } # ERROR: unknown-argument at from: A range has "min", "max", "step" or "not", not "from".
      zero_stage              = 4 # ERROR: out-of-range at 4: "zero_stage" must be at least 0 and at most 3, not 4.
      sequence_parallel       = "on" # ERROR: wrong-type at "on": "sequence_parallel" must be true or false, not the text "on".
      pipeline_schedule       = ["dualpipe", "interleaved"] # ERROR: unknown-value at "dualpipe": "dualpipe" is not a value of "pipeline_schedule", which takes "gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv" or "dualpipev". No framework runs dualpipe, which keeps every stage on two ranks; dualpipev keeps it on one. # ERROR: unknown-value at "interleaved": "interleaved" is not a value of "pipeline_schedule", which takes "gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv" or "dualpipev". Did you mean "interleaved_1f1b"?
      recompute               = "some" # ERROR: unknown-value at "some": "some" is not a value of "recompute", which takes "none", "selective" or "full".
      recompute_method        = [] # ERROR: out-of-range at []: The list of "recompute_method" is empty, so no layout can be legal. Leave the argument out to leave the choice to ndc.
      micro_batch_size        = true # ERROR: wrong-type at true: "micro_batch_size" must be a whole number, a list of them, or a range { min = …, max = …, step = …, not = … }, not true.
      stage_layers            = [1, 2, -3] # ERROR: out-of-range at -3: "stage_layers" must be at least 0, not -3.
      recompute_modules       = "core_attn" # ERROR: wrong-type at "core_attn": "recompute_modules" must be a list in brackets, not the text "core_attn".
      data_parallel_shard     = { min = 1.5 } # ERROR: out-of-range at 1.5: "data_parallel_shard" must be a whole number; 1.5 is not a whole number.
      data_parallel_replicate = [[1]] # ERROR: wrong-type at [1]: "data_parallel_replicate" must be a whole number, not a list.
      micro_batches           = { max = null }
      expert_tensor_parallel  = { not = [0, 1] } # ERROR: out-of-range at [0, 1]: "expert_tensor_parallel" must be at least 1, not 0.
      virtual_pipeline        = { not = [] } # ERROR: out-of-range at []: The list excludes nothing, so "virtual_pipeline" stays as free as without it. Name values that it must not have, or leave the argument out.
      recompute_layers        = { min = 2, max = 3, not = [3, 2] } # ERROR: out-of-range at { min = 2, max = 3, not = [3, 2] }: The range of "recompute_layers" is empty: it is to be at least 2 and at most 3, but not 2, 3.
    }
  }
}
