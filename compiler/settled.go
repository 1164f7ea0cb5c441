package compiler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Settled lists the jobs that a job may be: one for each number of nodes that it
// leaves open, ascending. A job that leaves none open is the only one of its list.
func Settled(j *job.Job) []*job.Job {
	if j.NodeCounts == nil {
		return []*job.Job{j}
	}
	var list []*job.Job
	for _, n := range j.NodeCounts {
		sized := withNodes(j, n)
		sized.NodeCounts = nil
		list = append(list, sized)
	}
	return list
}

// Able is a job without those values of its lists of execution options that a
// backend refuses, each asked for alone. Where nothing is left of a list, or the
// backend refuses the job whatever its values are, the fewest errors come with it.
func Able(j *job.Job, refuses func(*job.Job) diag.List) (*job.Job, diag.List) {
	if len(j.Constraints.Execution) == 0 {
		return j, nil
	}
	if diags := refuses(j); diags.HasErrors() {
		return nil, diags
	}
	able := *j
	able.Constraints.Execution = map[string][]string{}
	for i := range option.Options {
		o := &option.Options[i]
		var left []string
		var least diag.List
		for _, text := range j.Constraints.Execution[o.Name] {
			diags := refuses(with(j, o, text))
			switch {
			case !diags.HasErrors():
				left = append(left, text)
			case least == nil || len(diags) < len(least):
				least = diags
			}
		}
		switch {
		case left != nil:
			able.Constraints.Execution[o.Name] = left
		case least != nil:
			return nil, least
		}
	}
	return &able, nil
}

// Joined is a job whose lists of execution options go with one another where a
// target changes several at once, such as what it moves to the host together: a list
// of one of them that leaves the change open is a list of those, too, that the job
// says nothing of. Alone no value of it could be chosen.
func Joined(j *job.Job, variants []target.Variant) *job.Job {
	joined := j
	for i := range variants {
		var before, after plan.Execution
		variants[i].Apply(&after)
		var silent []string
		open := false
		for _, name := range variants[i].Options {
			o := option.FindOption(name)
			switch list := j.Constraints.Execution[name]; {
			case list == nil && o.IsSet(&j.Execution):
			case list == nil:
				silent = append(silent, name)
			default:
				open = open || slices.Contains(list, o.Text(&before)) && slices.Contains(list, o.Text(&after))
			}
		}
		if !open || silent == nil {
			continue
		}
		copied := *joined
		copied.Constraints.Execution = maps.Clone(joined.Constraints.Execution)
		for _, name := range silent {
			o := option.FindOption(name)
			copied.Constraints.Execution[name] = []string{o.Text(&before), o.Text(&after)}
		}
		joined = &copied
	}
	return joined
}

// Chosen is a job with the values that a plan has of its lists of execution
// options, and without the lists of which the plan's layout needs no value.
func Chosen(j *job.Job, p *plan.Plan) *job.Job {
	for i := range option.Options {
		o := &option.Options[i]
		list := j.Constraints.Execution[o.Name]
		if list == nil {
			continue
		}
		if text := o.Text(&p.Execution); text != "" && slices.Contains(list, text) {
			j = with(j, o, text)
		} else { // such as the type of context parallelism where there is none
			j = unlisted(j, o)
		}
	}
	return j
}

// with is a job in which an option has a value instead of a list.
func with(j *job.Job, o *option.Option, text string) *job.Job {
	value, err := o.Setting(text)
	if err != nil {
		panic("compiler: " + err.Error()) // the language knows the values
	}
	changed := unlisted(j, o)
	value.Pin(&changed.Execution)
	return changed
}

// unlisted is a job that says nothing of an option of which it has a list.
func unlisted(j *job.Job, o *option.Option) *job.Job {
	changed := *j
	changed.Constraints.Execution = maps.Clone(j.Constraints.Execution)
	delete(changed.Constraints.Execution, o.Name)
	return &changed
}

// Best finds the best of some plans of one job by its objective, the first of
// those that are equally good; -1 where none is feasible.
func Best(j *job.Job, plans []*plan.Plan) int {
	cost := func(p *plan.Plan) units.Seconds {
		switch j.Constraints.Objective {
		case "time":
			return timeOf(j, p)
		case "gpu_hours", "cost": // of spare nodes, too
			return units.Rounded(p.Time.StepSeconds * units.Seconds(p.Input.GPUs+p.Input.SpareNodes*j.Cluster.GPUsPerNode))
		}
		return units.Rounded(p.Time.StepSeconds * units.Seconds(p.Input.GPUs))
	}
	best := -1
	for i, p := range plans {
		if p.Feasible && (best < 0 || cost(p) < cost(plans[best])) {
			best = i
		}
	}
	if best >= 0 && j.Constraints.Objective == "memory" {
		fastest := fastestOf(plans)
		for i, p := range plans {
			if p.Feasible && almostAsFast(p, p.Time.StepSeconds, fastest) && p.Memory.Peak.DeviceBytes < plans[best].Memory.Peak.DeviceBytes {
				best = i
			}
		}
	}
	return best
}

// timeOf is what decides which run is over first: with its failures where the cluster
// says how often there are any, which more GPUs meet more of, else its step.
func timeOf(j *job.Job, p *plan.Plan) units.Seconds {
	switch {
	case !goodput.Ends(j, &p.Run):
		return units.Seconds(math.Inf(1))
	case p.Run.ExpectedSeconds > 0:
		return units.Rounded(p.Run.ExpectedSeconds)
	}
	return p.Time.StepSeconds
}

// Nearest finds, of some infeasible plans of one job on ascending numbers of nodes, the
// one that misses its limits by the least, the largest of those that are equally far.
func Nearest(plans []*plan.Plan) int {
	nearest := len(plans) - 1
	for i := nearest - 1; i >= 0; i-- {
		if compareMisses(missOf(plans[i]), missOf(plans[nearest])) < 0 {
			nearest = i
		}
	}
	return nearest
}

// miss is how far an infeasible plan is from being feasible. Of two it is the one with the
// lesser shortage, whatever the shares are, as among the layouts of one size.
type miss struct {
	shortage int     // 4 where the job is an error on so many nodes, 3 where no layout is legal, 2 where the GPU's memory is short, 1 where the node's is
	share    float64 // by which the limit is missed
}

func missOf(p *plan.Plan) miss {
	r := &p.Infeasible.Reasons[0]
	m := miss{share: r.Needed/r.Available - 1}
	switch {
	case p.Search.Enumerated == 0:
		return miss{shortage: 4}
	case r.Needed == 0: // no layout has anything that a limit could be held against
		return miss{shortage: 3}
	case r.ID == string(search.IDMemory):
		m.shortage = 2
	case r.ID == string(search.IDHostMemory):
		m.shortage = 1
	case r.ID == string(search.IDExposed): // a share itself
		m.share = r.Needed - r.Available
	}
	return m
}

func compareMisses(a, b miss) int {
	return cmp.Or(cmp.Compare(a.shortage, b.shortage), cmp.Compare(a.share, b.share))
}

// Held are the jobs of some plans, one for each size, where the least memory is looked
// for. Of a plan that takes much longer than the fastest layout of all sizes, and
// whose size has layouts that do not, the job is held against that layout; the others
// are as they were.
func Held(jobs []*job.Job, plans []*plan.Plan) []*job.Job {
	held := slices.Clone(jobs)
	fastest := fastestOf(plans)
	for i, p := range plans {
		if p.Time.FastestSeconds > 0 && !almostAsFast(p, p.Time.StepSeconds, fastest) && almostAsFast(p, p.Time.FastestSeconds, fastest) {
			changed := *jobs[i]
			changed.Constraints.Fastest = stepOf(p, fastest)
			held[i] = &changed
		}
	}
	return held
}

// Alone is a job that is not held against other sizes.
func Alone(j *job.Job) *job.Job {
	alone := *j
	alone.Constraints.Fastest = 0
	return &alone
}

// fastestOf is the least GPU time that a step takes in any layout of the sizes of some
// plans, where these are the least memory of their sizes.
func fastestOf(plans []*plan.Plan) units.Seconds {
	least := units.Seconds(math.Inf(1))
	for _, p := range plans {
		if step := p.Time.FastestSeconds; step > 0 {
			least = min(least, step*units.Seconds(p.Input.GPUs))
		}
	}
	return least
}

// stepOf is a step of the size of a plan that takes some GPU time.
func stepOf(p *plan.Plan, gpuTime units.Seconds) units.Seconds {
	return units.Rounded(gpuTime / units.Seconds(p.Input.GPUs))
}

func almostAsFast(p *plan.Plan, step, fastest units.Seconds) bool {
	return step <= search.AlmostAsFast(stepOf(p, fastest))
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
		describe(p, j, t, &found.Best[0], distinct(j, found))
		p.Time.FastestSeconds = found.Fastest
		return p, nil
	case len(found.Nearest) > 0:
		describe(p, j, t, &found.Nearest[0], 1)
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{missReason(j, p, found.Nearest[0].Broken())}}
	case len(p.Search.Rejected) > 0:
		r := &p.Search.Rejected[0]
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{ID: r.ID, Summary: r.Reason}}}
	default:
		p.Infeasible = &plan.Infeasible{Reasons: []plan.Reason{{ID: string(IDDegreesDoNotFit),
			Summary: fmt.Sprintf("no product of degrees uses all %s.%s", units.Count(j.Cluster.GPUs(), "GPU"), degreeRules(j))}}}
	}
	return p, nil
}
