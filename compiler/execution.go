package compiler

import (
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
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
	best := -1
	for i, p := range plans {
		if p.Feasible && (best < 0 || p.Time.StepSeconds < plans[best].Time.StepSeconds) {
			best = i
		}
	}
	if best < 0 {
		return 0
	}
	if j.Constraints.Objective == "memory" {
		slowest := search.AlmostAsFast(plans[best].Time.StepSeconds)
		for i, p := range plans {
			if p.Feasible && p.Time.StepSeconds <= slowest && p.Memory.Peak.DeviceBytes < plans[best].Memory.Peak.DeviceBytes {
				best = i
			}
		}
	}
	return best
}
