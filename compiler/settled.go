package compiler

import (
	"context"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Settled lists the jobs that a job may be: one for each number of nodes that it
// leaves open, ascending, and combination of the values that it names for options
// of execution, those of the last option varying fastest. A job that leaves no such
// choice is the only one of its list. What a backend can do may depend on them, so
// each needs a target of its own.
func Settled(j *job.Job) []*job.Job {
	list := []*job.Job{j}
	if j.NodeCounts != nil {
		list = nil
	}
	for _, n := range j.NodeCounts {
		sized := withNodes(j, n)
		sized.NodeCounts = nil
		list = append(list, sized)
	}
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

// Best finds the best of some plans of one job by its objective, the first of
// those that are equally good; -1 where none is feasible.
func Best(j *job.Job, plans []*plan.Plan) int {
	measure := func(p *plan.Plan) units.Seconds {
		return units.Rounded(p.Time.StepSeconds * units.Seconds(p.Input.GPUs))
	}
	if j.Constraints.Objective == "time" {
		measure = func(p *plan.Plan) units.Seconds { return p.Time.StepSeconds }
	}
	best := -1
	for i, p := range plans {
		if p.Feasible && (best < 0 || measure(p) < measure(plans[best])) {
			best = i
		}
	}
	if best >= 0 && j.Constraints.Objective == "memory" {
		most := search.AlmostAsFast(measure(plans[best]))
		for i, p := range plans {
			if p.Feasible && measure(p) <= most && p.Memory.Peak.DeviceBytes < plans[best].Memory.Peak.DeviceBytes {
				best = i
			}
		}
	}
	return best
}

// Sketch is the best plan of a job without what takes further searches: what would
// make it fit, and advice. Input that Compile reports makes it infeasible, too. The
// only error is that of a context which ends first.
func Sketch(ctx context.Context, j *job.Job, t *target.Target) (*plan.Plan, error) {
	if diags := Check(j, t); diags.HasErrors() {
		return Unplanned(j, diags), nil
	}
	t = predicted(j, t)
	found, err := search.Run(ctx, j, t)
	if err != nil {
		return nil, err
	}
	p := blank(j)
	p.Backend, p.BackendVersion, p.Search = t.Backend, t.Version, counts(t, found)
	switch {
	case len(found.Best) > 0:
		p.Feasible = true
		describe(p, j, t, &found.Best[0])
		return p, nil
	case len(found.Nearest) > 0:
		describe(p, j, t, &found.Nearest[0])
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{missReason(j, p, &found.Nearest[0])}}
	case len(p.Search.Rejected) > 0:
		r := &p.Search.Rejected[0]
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{ID: r.ID, Summary: r.Reason}}}
	default:
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{ID: string(search.IDBatchNotDivisible), Summary: search.Reasons[search.IDBatchNotDivisible]}}}
	}
	return p, nil
}
