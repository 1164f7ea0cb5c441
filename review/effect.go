package review

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/review/record"
)

// rule makes the effect of a chosen layout graver: where a job has one of the
// values at a path, the axes touch what is learned, on one backend or on all.
type rule struct {
	path    string
	values  []any
	axes    []string
	backend string // "": all
	why     string
}

var rules = []rule{
	{
		"model.moe.router.balance", []any{"aux_loss"}, []string{"micro_batch_size"}, "",
		"the balancing loss is taken over each micro-batch",
	},
	{
		"model.moe.router.balance", []any{"aux_loss", "sequence_aux_loss"}, []string{"context_parallel"}, "deepspeed",
		"the balancing loss is taken over the part of a sequence that a rank has",
	},
	{
		"model.moe.token_drop", []any{true}, []string{"micro_batch_size", "tensor_parallel", "context_parallel", "sequence_parallel", "expert_tensor_parallel"}, "",
		"each rank drops what is beyond the capacity of its own part of a micro-batch",
	},
}

// effectOf is what a change at a path touches in these jobs, and why that is
// more than the argument says. What this version of ndc does not know may
// touch anything.
func effectOf(path string, sides ...map[string]*record.Value) (effect, why string) {
	e := schema.EffectOf(path)
	if e == 0 {
		return schema.Convergence.String(), "this version of ndc does not know the argument"
	}
	axis, chosen := strings.CutPrefix(path, "layout.")
	for _, r := range rules {
		if chosen && slices.Contains(r.axes, axis) && slices.ContainsFunc(sides, r.holds) {
			return schema.Convergence.String(), r.why
		}
	}
	return e.String(), ""
}

func (r *rule) holds(values map[string]*record.Value) bool {
	v, on := values[r.path], values["backend"]
	return v != nil && slices.Contains(r.values, v.Value) && (r.backend == "" || on != nil && on.Value == r.backend)
}
