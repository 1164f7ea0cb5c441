package compiler

import (
	"context"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Rival is a layout that may turn out faster than a plan's.
type Rival struct {
	Choice      plan.Choice
	StepSeconds units.Seconds
	Features    int // axes and options beyond the simplest
}

// rivalry is by how much longer than the fastest a rival may be predicted to take,
// as a share: twice the spread of the difference of two unlike layouts where nothing
// was measured (docs/uncertainty.md).
const rivalry = 0.12

// Rivals are a feasible plan's own choice, and after it the layouts that may turn
// out faster, fastest first and of those that are alike one, with what is known of the times of their steps
// together. The only error is that of a context which ends first.
func Rivals(ctx context.Context, j *job.Job, t *target.Target, p *plan.Plan) ([]Rival, *uncertainty.Joint, error) {
	t = predicted(j, t)
	found, prior, err := search.Near(ctx, j, t, rivalry)
	if err != nil {
		return nil, nil, err
	}
	own := Rival{Choice: plan.Choice{Layout: p.Layout, Execution: p.Execution}, StepSeconds: p.Time.StepSeconds}
	list := []Rival{own}
	steps := make([]uncertainty.Step, 1)
	estimate.New(j, t).Uncertain(&p.Layout, &p.Execution, &steps[0])
	for i := range found {
		c := &found[i]
		if differs(&own.Choice, &c.Layout, &c.Execution) == "" {
			list[0].Features = c.Features
		}
	}
	for i := range found {
		c := &found[i]
		if learnsOtherwise(j, p, &c.Layout) {
			continue
		}
		r := Rival{Choice: plan.Choice{Layout: c.Layout, Execution: c.Execution}, StepSeconds: c.Result.StepSeconds, Features: c.Features}
		if !slices.ContainsFunc(list, func(has Rival) bool { return alike(&has.Choice, &r.Choice) }) {
			list, steps = append(list, r), append(steps, c.Step)
		}
	}
	return list, prior.Joint(steps), nil
}

// learnsOtherwise reports whether another model is learned with a layout than with
// the plan's, in an axis that the job left open: a trial would compare two models.
func learnsOtherwise(j *job.Job, p *plan.Plan, l *plan.Layout) bool {
	return slices.ContainsFunc(p.Learned, func(learned plan.Learned) bool {
		a := option.FindAxis(learned.Axis)
		return a.IsFree(&j.Constraints.Layout) && !a.Same(&p.Layout, l)
	})
}

// alike reports whether two choices differ in nothing but what is recomputed and
// how layers are cut into stages, of which nobody doubts which is the faster one.
func alike(a, b *plan.Choice) bool {
	free := plan.Choice{Layout: a.Layout, Execution: a.Execution, Open: []string{"recompute", "recompute_modules", "recompute_method", "recompute_layers", "stage_layers"}}
	return differs(&free, &b.Layout, &b.Execution) == ""
}
