package main

import (
	"fmt"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/backends/megatron"
	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// targetOf asks the backend. A run of a framework that ndc does not emit for
// only borrows the target, so the backend is shown a model and a schedule that
// it can build; what depends on the model is asked of the job itself later.
func targetOf(j *job.Job) (*target.Target, string) {
	plain := *j
	plain.Training.Schedule.Kind = "cosine"
	plain.Training.Precision, plain.Training.FP8 = "bf16", job.FP8{}
	plain.Execution = job.Execution{}
	m := &plain.Model
	if m.MoE == nil && m.Attention.MLA == nil {
		m.Architecture, m.Activation.Kind, m.Norm.Kind, m.PositionEmbedding.Kind = "llama", "swiglu", "rmsnorm", "rope"
		m.Attention.Bias, m.MLPBias, m.TiedEmbeddings, m.Dropout = false, false, false, 0
	}
	if m.MoE != nil && j.Backend.Kind == "deepspeed" { // rows say nothing of the router, and classes of transformers have one kind each
		experts := *m.MoE
		experts.Router = job.Router{Score: "softmax", Balance: "none", Normalize: true}
		if m.Attention.MLA != nil {
			experts.Router.Score = "sigmoid"
		}
		m.MoE, m.Attention.Bias, m.MLPBias, m.TiedEmbeddings, m.Dropout = &experts, false, false, false, 0
	}
	for _, b := range []backends.Backend{megatron.Backend{}, torchtitan.Backend{}, deepspeed.Backend{}} {
		if b.Kind() != j.Backend.Kind {
			continue
		}
		t, diags := b.Target(&plain)
		if t == nil {
			return nil, fmt.Sprintf("%s has no target: %v", b.Kind(), diags)
		}
		return t, ""
	}
	return nil, "no backend " + j.Backend.Kind
}
