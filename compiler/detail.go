package compiler

import (
	"context"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Detail answers, when asked, what a plan does not hold about its layout, because
// few ask and it is long.
type Detail struct {
	job       *job.Job
	target    *target.Target
	plan      *plan.Plan
	evaluator *estimate.Evaluator
}

// NewDetail is about a plan with a layout, which was made for a job on a target.
func NewDetail(j *job.Job, t *target.Target, p *plan.Plan) *Detail {
	return &Detail{job: j, target: t, plan: p, evaluator: estimate.New(j, t)}
}

// Plan is the plan that is asked about.
func (d *Detail) Plan() *plan.Plan { return d.plan }

// StepDifference is the 90 % range of what the step of another plan takes longer, as a share of
// this one's. Both share most of their errors, so that it is narrower than their own ranges.
func (d *Detail) StepDifference(other *Detail) [2]float64 {
	return differenceRange(search.Difference(d.evaluator.Prior(), other.known(), d.known()))
}

// MemoryDifference is the same of what the other plan's busiest rank holds more.
func (d *Detail) MemoryDifference(other *Detail) [2]float64 {
	return d.evaluator.MemoryDifference(&other.plan.Memory.Peak, &d.plan.Memory.Peak)
}

// known is the plan as a search judges it.
func (d *Detail) known() *search.Known {
	k := &search.Known{}
	d.evaluator.Uncertain(&d.plan.Layout, &d.plan.Execution, &k.Step)
	if l := d.plan.Memory.NearLimit; l != nil {
		k.Result.Slower = l.Times - 1
	}
	return k
}

// Timeline is what the pipeline ranks do in one step. Its times have the digits of
// the step.
func (d *Detail) Timeline() *plan.Timeline {
	t := d.evaluator.Timeline(&d.plan.Layout, &d.plan.Execution)
	step := d.plan.Time.StepSeconds
	for _, slots := range t.Ranks {
		for i := range slots {
			slots[i].Start, slots[i].End = units.RoundedTo(slots[i].Start, step), units.RoundedTo(slots[i].End, step)
		}
	}
	return t
}

// Occupancy is what they hold meanwhile.
func (d *Detail) Occupancy() *plan.Occupancy {
	return d.evaluator.Occupancy(&d.plan.Layout, &d.plan.Execution)
}

// MemoryTerms takes the ledger of a pipeline stage apart.
func (d *Detail) MemoryTerms(stage int) []plan.Term {
	return d.evaluator.MemoryTerms(&d.plan.Layout, &d.plan.Execution, stage)
}

// TimeTerms takes the breakdown of the step apart.
func (d *Detail) TimeTerms() []plan.Term {
	return d.evaluator.TimeTerms(&d.plan.Layout, &d.plan.Execution)
}

// Routes says how every collective of the plan travels.
func (d *Detail) Routes() []plan.Route {
	return d.evaluator.Routes(&d.plan.Layout, &d.plan.Execution, d.plan.Communication)
}

// Kinds says what every kind of collective would take over all ranks.
func (d *Detail) Kinds() []plan.Route { return d.evaluator.Kinds(&d.plan.Layout) }

// Averaging says what replicas would send if they averaged less often, or not all with all.
func (d *Detail) Averaging() []plan.Averaging {
	return d.evaluator.Averaging(&d.plan.Layout, &d.plan.Execution)
}

// mostAssessed is how many layouts are enough to see what there is.
const mostAssessed = 100_000

// Layouts assesses all layouts of the job, of very many a part. The only error is
// that of a context which ends first.
func (d *Detail) Layouts(ctx context.Context) ([]plan.Assessed, error) {
	var list []plan.Assessed
	err := search.All(ctx, d.job, predicted(d.job, d.target), &plan.Choice{Layout: d.plan.Layout, Execution: d.plan.Execution}, mostAssessed, func(c *search.Candidate) {
		a := plan.Assessed{Layout: c.Layout, StepSeconds: c.Result.StepSeconds, PeakDeviceBytes: c.Result.PeakDeviceBytes, Fits: plan.Fits}
		switch usable := d.job.UsableMemory(); {
		case c.Broken() == "" && c.Result.PeakDeviceUpperBytes > usable || c.Broken() == search.IDMemory && c.Result.PeakDeviceBytes <= usable:
			a.Fits = plan.FitsUnsure
		case c.Broken() != "":
			a.Fits = plan.FitsNot
		}
		list = append(list, a)
	})
	return list, err
}

// Roofline holds the kernels of a forward pass against what the GPU could do.
func (d *Detail) Roofline() *plan.Roofline {
	return d.evaluator.Roofline(&d.plan.Layout, &d.plan.Execution)
}
