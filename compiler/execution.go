package compiler

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// Settled lists the jobs that a job may be: one for each combination of the
// values that it names for options of execution, those of the last option
// varying fastest. A job that leaves no such choice is the only one of its list.
// What a backend can do may depend on them, so each needs a target of its own.
func Settled(j *job.Job) []*job.Job {
	list := []*job.Job{j}
	for i := range option.Options {
		o := &option.Options[i]
		if values := j.Constraints.Execution[o.Name]; values != nil {
			list = settle(list, o, values)
		}
	}
	return list
}

// settle makes of each job one for each value of an option.
func settle(jobs []*job.Job, o *option.Option, values []string) []*job.Job {
	var list []*job.Job
	for _, j := range jobs {
		for _, text := range values {
			value, err := o.Setting(text)
			if err != nil {
				panic("compiler: " + err.Error()) // the language knows the values
			}
			settled := *j
			settled.Constraints.Execution = nil
			value.Pin(&settled.Execution)
			list = append(list, &settled)
		}
	}
	return list
}

// Best finds the best of some plans of one job by its objective: its place, or
// that of the first one where none is feasible.
func Best(j *job.Job, plans []*plan.Plan) int {
	first := func(p *plan.Plan) float64 { return float64(p.Time.StepSeconds) }
	if j.Constraints.Objective == "memory" {
		first = func(p *plan.Plan) float64 { return float64(p.Memory.Peak.DeviceBytes) }
	}
	best := max(0, slices.IndexFunc(plans, func(p *plan.Plan) bool { return p.Feasible }))
	for i, p := range plans {
		if p.Feasible && first(p) < first(plans[best]) {
			best = i
		}
	}
	return best
}
