package megatron

import (
	"fmt"
	"slices"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// checkExtraArguments passes backend.extra_args through the release's table.
func checkExtraArguments(v *version, j *job.Job, diags *diag.List) {
	at := j.Sources.Range("backend.extra_args")
	for _, o := range occurrences(j.Backend.ExtraArgs) {
		if o.name == "" {
			diags.Error(InvalidExtraArgument, at, "Invalid extra argument",
				fmt.Sprintf("%s stands before any option. Write the option and each of its values as elements of their own: [\"--option\", \"value\"].", spell(o.words)))
			continue
		}
		if p := v.options.Check(o.name, o.values...); p != nil {
			detail := p.Error()
			if s := since(o.name, ""); p.Unknown && s != "" {
				detail += " " + s + " has it."
			}
			diags.Error(InvalidExtraArgument, at, "Invalid extra argument", detail)
		}
	}
}

// checkRepeated reports extra arguments that set what ndc emits: the launch
// would no longer be the one that was planned. Options that share an
// attribute, such as --swiglu and --no-swiglu, count as the same.
func (a *arguments) checkRepeated(diags *diag.List) {
	var emitted []string
	for name := range a.used {
		if o, ok := a.v.options.Lookup(name); ok {
			emitted = append(emitted, o.Dest)
		}
	}
	for _, o := range occurrences(a.j.Backend.ExtraArgs) {
		option, ok := a.v.options.Lookup(o.name)
		if ok && (slices.Contains(emitted, option.Dest) || slices.Contains(decided, option.Dest)) {
			diags.Error(RepeatedExtraArgument, a.j.Sources.Range("backend.extra_args"), "Extra argument sets a planned option",
				fmt.Sprintf("%s follows from the job and the plan; with another value the run would not be the one that was planned. Set the argument of the job instead.", o.name))
		}
	}
}

// decided are attributes that the plan decides even where ndc emits nothing
// for them, because leaving them out is the decision.
var decided = []string{
	"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
	"expert_model_parallel_size", "expert_tensor_parallel_size", "sequence_parallel",
	"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank",
	"pipeline_model_parallel_layout", "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
	"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split", "use_tp_pp_dp_mapping",
	"recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules", "recompute_activations",
	"use_distributed_optimizer", "use_megatron_fsdp", "use_torch_fsdp2", "data_parallel_sharding_strategy",
	"num_distributed_optimizer_instances", "micro_batch_size", "global_batch_size", "train_iters", "train_samples",
	"overlap_grad_reduce", "overlap_param_gather", "tp_comm_overlap", "overlap_moe_expert_parallel_comm",
	"cuda_graph_impl", "enable_cuda_graph", "external_cuda_graph", "cross_entropy_loss_fusion", "cross_entropy_fusion_impl",
	"use_precision_aware_optimizer", "optimizer_cpu_offload", "fine_grained_activation_offloading", "cpu_offloading_num_layers",
	"bf16", "fp16", "fp8", "fp4", "fp8_recipe", "fp8_param_gather", "grad_reduce_in_bf16", "yaml_cfg",
}
