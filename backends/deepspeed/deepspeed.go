// Package deepspeed targets DeepSpeed 0.16.4 to 0.19.8 with models built by
// Hugging Face transformers: which layouts a release accepts, how it resolves
// execution options, and the files that carry out a plan: ds_config.json, the
// model's config.json, run.json with the values of the job, and the training
// program that reads them. It does not search and does not predict; package
// compiler/search asks the Target it provides, and the Slurm side of the
// scripts comes from the sibling package slurm. Every key of ds_config.json is
// checked against the option table of its release (package schema).
package deepspeed

import (
	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/slurm"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Backend emits for DeepSpeed.
type Backend struct{}

var _ backends.Backend = Backend{}

// Kind returns "deepspeed".
func (Backend) Kind() string { return "deepspeed" }

// Versions lists the supported releases, newest last.
func (Backend) Versions() []string {
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = v.String()
	}
	return names
}

// Target says what the job's release can do for the job. Diagnostics point at
// arguments that neither the release, nor transformers, nor the emitted
// program can honour, and name who can.
func (Backend) Target(j *job.Job) (*target.Target, diag.List) {
	r, diags := findVersion(j)
	if diags.HasErrors() {
		return nil, diags
	}
	family := checkModel(j, &diags)
	checkTraining(j, &diags)
	checkExecution(j, r, family, &diags)
	checkLayout(j, r, &diags)
	checkExtraArguments(j, r, &diags)
	slurm.CheckMounts(j, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	options := r.execution(family)
	return &target.Target{
		Backend:    "deepspeed",
		Version:    r.String(),
		Runtime:    r.runtime(j),
		DenseMesh:  []plan.Axis{plan.TensorParallel, plan.ContextParallel, plan.DataParallelShard, plan.DataParallelReplicate},
		ExpertMesh: []plan.Axis{plan.ExpertParallel, plan.ExpertDataParallel},

		ZeroStages: []int{0, 1, 2, 3},
		Recomputes: []target.RecomputeOption{
			{Mode: plan.RecomputeNone},
			{Mode: plan.RecomputeFull, Method: "uniform", Layers: []int{1}},
			{Mode: plan.RecomputeFull, Method: "block"},
		},
		SequenceParallel: []bool{false},
		ContextParallel:  r.has(ulysses) && family.ulysses,
		ExpertParallel:   r.has(autoEP) && family.expertPreset != "",
		Replicate:        asksForReplicas(j),
		Alternatives:     r.alternatives(),

		Rules:    rules(r, family),
		Resolve:  options.Resolver(),
		For:      Backend{}.Target,
		Variants: options.Variants(),
		Offers:   options.Offers(j),
	}, diags
}

// asksForReplicas reports whether the user asks for state that is sharded
// within replicas (MiCS). Later releases have dropped it, which a rule says of them:
// nobody is to come to depend on it unasked.
func asksForReplicas(j *job.Job) bool {
	c := &j.Constraints.Layout
	return !c.DataParallelReplicate.Free() || !c.DataParallelShard.Free()
}

// alternatives says who has what the release lacks in a layout, and where the
// release has it, what keeps this model from it.
func (r version) alternatives() func(argument string, values []string) string {
	limits := map[string]string{
		"recompute_layers": "transformers recomputes each layer by itself (uniform, recompute_layers = 1) or some of them (block).",
	}
	if r.has(ulysses) {
		limits["context_parallel"] = "Ulysses does not go with the attention of this architecture."
	}
	if r.has(autoEP) {
		limits["expert_parallel"] = "AutoEP does not know this architecture."
	}
	return capability.Layout(limits)
}
