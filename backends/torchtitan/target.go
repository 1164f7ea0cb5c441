package torchtitan

import (
	"slices"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Target returns what the job's release can do for this job. Diagnostics
// point at the arguments that it cannot honour; among them are warnings about
// values that the release handles in its own way.
func (Backend) Target(j *job.Job) (*target.Target, diag.List) {
	v, diags := findVersion(j)
	if v == nil {
		return nil, diags
	}
	f, modelDiags := v.familyOf(j)
	diags.Append(modelDiags)
	v.checkTraining(j, &diags)
	v.checkPrecision(j, &diags)
	v.checkData(j, &diags)
	v.checkCheckpoint(j, &diags)
	v.checkExecution(j, &diags)
	v.checkPackages(j, &diags)
	v.checkRecompute(j, &diags)
	v.checkExtraArgs(j, &diags)
	slurm.CheckMounts(j, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	return v.target(j, f), diags
}

// target assembles the capabilities. World ranks run tp fastest, then cp,
// shard, replicate and pp (torchtitan/distributed/parallel_dims.py); experts
// borrow the same ranks from the inside out.
func (v *version) target(j *job.Job, f *family) *target.Target {
	options := v.execution()
	t := &target.Target{
		Backend: "torchtitan", Version: v.name, Runtime: v.runtime(f, j),
		DenseMesh: []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard,
			plan.DataParallelReplicate, plan.PipelineParallel},
		ExpertMesh: []plan.Axis{plan.ExpertTensorParallel, plan.ExpertParallel,
			plan.ExpertDataParallel, plan.PipelineParallel},
		ZeroStages: []int{0, 2, 3},
		Recomputes: []target.RecomputeOption{
			{Mode: plan.RecomputeNone},
			{Mode: plan.RecomputeSelective, Modules: plan.ModuleOperators},
			{Mode: plan.RecomputeFull, Method: "uniform", Layers: []int{1}},
		},
		SequenceParallel:     []bool{true},
		ContextParallel:      f.context,
		PipelineParallel:     f.pipeline,
		VirtualPipeline:      f.pipeline,
		UnevenStages:         f.pipeline,
		ExpertParallel:       j.Model.MoE != nil,
		ExpertTensorParallel: j.Model.MoE != nil,
		Replicate:            true,
		Alternatives:         alternatives(v, f),
		Rules:                slices.Concat(commonRules, options.Conflicts(), v.rules, f.rules),
		Resolve:              options.Resolver(),
		For:                  Backend{}.Target,
		Variants:             options.Variants(),
		Offers:               options.Offers(j),
	}
	if v.optionalSequenceParallel && j.Constraints.Layout.SequenceParallel.Set {
		t.SequenceParallel = []bool{true, false} // off is never better, so only on demand
	}
	for _, s := range v.schedules {
		t.Schedules = append(t.Schedules, s.schedule)
	}
	return t
}

// alternatives says who has what this release or this model of it lacks in a
// layout.
func alternatives(v *version, f *family) func(string, []string) string {
	limits := map[string]string{
		"zero_stage":             "TorchTitan shards parameters (zero_stage 2 and 3).",
		"expert_tensor_parallel": "TorchTitan 0.2.2 splits experts over 1 or tensor_parallel ranks by itself, 0.3.0 has no such axis.",
		"recompute_layers":       "TorchTitan recomputes every layer or none.",
		"recompute_method":       "TorchTitan checkpoints every layer by itself (uniform, recompute_layers = 1).",
		"recompute_modules":      "TorchTitan chooses operations (\"op\"), not modules.",
		"sequence_parallel":      "TorchTitan 0.2.2 always has sequence parallelism with tensor parallelism.",
	}
	if !f.pipeline {
		limits["pipeline_parallel"] = "TorchTitan " + v.name + " cannot split its " + f.module + " into pipeline stages."
	}
	if !f.context {
		limits["context_parallel"] = "TorchTitan " + v.name + " has no context parallelism for its " + f.module + "."
	}
	return capability.Layout(limits)
}
