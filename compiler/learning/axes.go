package learning

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// Axes lists the axes of a layout whose value changes what a mixture of experts
// learns, because its experts are balanced, or tokens dropped, within a part of the
// batch (Qiu et al. 2025, arXiv 2501.11873: the smaller that part, the less experts
// specialise, and the worse the model).
func Axes(j *job.Job, r *runtime.Runtime) []plan.Learned {
	e := j.Model.MoE
	if e == nil {
		return nil
	}
	var list []plan.Learned
	add := func(why string, axes ...string) {
		for _, axis := range axes {
			list = append(list, plan.Learned{Axis: axis, Why: why})
		}
	}
	balance := e.Router.Balance
	if r.Experts.BiasAlone {
		balance = "bias"
	}
	switch {
	case e.TokenDrop:
		add("each rank drops what is beyond the capacity of its own part of a micro-batch",
			"micro_batch_size", "tensor_parallel", "sequence_parallel", "context_parallel", "expert_tensor_parallel")
	case balance == "aux_loss":
		add("the balancing loss is taken over each micro-batch", "micro_batch_size")
	}
	return list
}
