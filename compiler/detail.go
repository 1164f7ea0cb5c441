package compiler

import (
	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Detail answers, when asked, what a plan does not hold about its layout, because
// few ask and it is long.
type Detail struct {
	plan      *plan.Plan
	evaluator *estimate.Evaluator
}

// NewDetail is about a plan with a layout, which was made for a job on a target.
func NewDetail(j *job.Job, t *target.Target, p *plan.Plan) *Detail {
	return &Detail{plan: p, evaluator: estimate.New(j, t)}
}

// Timeline is the pipeline schedule of one step; nil where there is no pipeline.
// Its times have the digits of the step.
func (d *Detail) Timeline() *plan.Timeline {
	t := d.evaluator.Timeline(&d.plan.Layout, &d.plan.Execution)
	if t == nil {
		return nil
	}
	step := d.plan.Time.StepSeconds
	for _, slots := range t.Ranks {
		for i := range slots {
			slots[i].Start, slots[i].End = units.RoundedTo(slots[i].Start, step), units.RoundedTo(slots[i].End, step)
		}
	}
	return t
}
