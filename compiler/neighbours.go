package compiler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// adjusting are the axes that follow from the others: how the ranks that are left
// share the batch, and how the layers are split.
var adjusting = []string{"data_parallel_replicate", "data_parallel_shard", "micro_batches", "stage_layers"}

// movedWith are axes that have to move with another one that does.
var movedWith = map[string][]string{
	"pipeline_parallel": {"virtual_pipeline", "pipeline_schedule"},
	"virtual_pipeline":  {"pipeline_schedule"},
	"pipeline_schedule": {"virtual_pipeline"},
	"tensor_parallel":   {"sequence_parallel", "expert_tensor_parallel"},
}

// Neighbours moves every axis of a plan's layout by one step, all other axes but
// those that follow staying where they are, and says what becomes of step and
// memory, or what stops it. The only error is that of a context which ends first.
func (d *Detail) Neighbours(ctx context.Context) ([]plan.Neighbour, error) {
	var list []plan.Neighbour
	for i := range option.Axes {
		a := &option.Axes[i]
		if slices.Contains(adjusting, a.Name) || a.FreedWith == "recompute" || d.job.Model.MoE == nil && strings.HasPrefix(a.Name, "expert") {
			continue
		}
		for _, moved := range moves(a, &d.plan.Layout) {
			n, err := d.neighbour(ctx, a, moved)
			if err != nil {
				return nil, err
			}
			if n != nil {
				list = append(list, *n)
			}
		}
	}
	return list, nil
}

// moves are layouts with the next values of an axis.
func moves(a *option.Axis, l *plan.Layout) (list []*plan.Layout) {
	with := func(set func(*plan.Layout)) {
		moved := *l
		set(&moved)
		list = append(list, &moved)
	}
	switch value := a.Value(l).(type) {
	case *bool:
		with(func(m *plan.Layout) { *a.Value(m).(*bool) = !*value })
	case *int:
		if a.Name == "virtual_pipeline" && l.PipelineParallel == 1 { // there is nothing to cut
			return nil
		}
		next := []int{*value / 2, *value * 2}
		if a.Max > 0 { // zero_stage
			next = []int{*value - 1, *value + 1}
		}
		for _, n := range next {
			if n >= a.Min && (a.Max == 0 || n <= a.Max) && (n != *value) {
				with(func(m *plan.Layout) { *a.Value(m).(*int) = n })
			}
		}
	case *plan.Schedule:
		for _, name := range a.Values {
			if s, ok := plan.ParseSchedule(name); ok && s != *value && l.PipelineParallel > 1 {
				with(func(m *plan.Layout) { m.PipelineSchedule = s })
			}
		}
	case *plan.Recompute:
		for r := plan.RecomputeNone; r <= plan.RecomputeFull; r++ {
			if r != *value {
				with(func(m *plan.Layout) { m.Recompute = r })
			}
		}
	}
	return list
}

// neighbour plans the job with a moved axis; nil where that is no value of the
// language.
func (d *Detail) neighbour(ctx context.Context, a *option.Axis, moved *plan.Layout) (*plan.Neighbour, error) {
	held := *d.job
	held.Constraints.Layout = job.LayoutConstraints{}
	c := &held.Constraints.Layout
	for i := range option.Axes {
		other := &option.Axes[i]
		if other.Name != a.Name && (slices.Contains(adjusting, other.Name) || other.FreedWith == a.Name || slices.Contains(movedWith[a.Name], other.Name)) {
			continue
		}
		other.Pin(c, moved)
	}
	n := &plan.Neighbour{Axis: a.Name, From: a.Text(&d.plan.Layout), To: a.Text(moved), Layout: *moved}
	t, diags := d.target.Again(&held)
	if diags.HasErrors() {
		n.Why = Unplanned(&held, diags).Infeasible.Reasons[0].Summary
		return n, nil
	}
	p, err := Sketch(ctx, &held, t)
	if err == nil && p.Search.Enumerated > 0 && !p.Feasible && len(p.Memory.Stages) == 0 {
		// All are illegal, most of them perhaps for what other numbers of replicas break.
		option.FindAxis("data_parallel_replicate").Pin(c, &d.plan.Layout)
		var q *plan.Plan
		if q, err = Sketch(ctx, &held, t); err == nil && q.Search.Enumerated > 0 {
			p = q
		}
	}
	if err != nil {
		return nil, err
	}
	n.Feasible = p.Feasible
	if len(p.Memory.Stages) > 0 {
		n.Layout, n.Execution, n.StepSeconds, n.PeakDeviceBytes = p.Layout, p.Execution, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes
	}
	switch {
	case !p.Feasible && len(p.Infeasible.Reasons) > 0 && p.Infeasible.Reasons[0].ID == string(IDAxisUnsupported):
		// that reason speaks of a job which asks for it, and this one does not
		n.Why = fmt.Sprintf("%s %s lacks it.%s", t.Backend, t.Version, elsewhere(t, a.Name, strings.Trim(n.To, `"`)))
	case !p.Feasible && len(p.Infeasible.Reasons) > 0:
		n.Why = p.Infeasible.Reasons[0].Summary
	case !d.allows(a, &n.Layout):
		n.Why = fmt.Sprintf("the job's constraints.layout.%s leaves it out", a.Name)
	}
	return n, nil
}

// allows reports whether the job's own constraints leave a value of an axis open.
func (d *Detail) allows(a *option.Axis, l *plan.Layout) bool {
	c := d.job.Constraints.Layout
	return a.Pin(&c, l)
}
