package search

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// limits are the job's constraints as numbers to compare with.
type limits struct {
	usable  units.Bytes
	host    units.Bytes // memory of a node; 0: unknown
	exposed float64
	step    units.Seconds // longest step that meets time and MFU limits; 0: none
	stepID  diag.ID
	nvlink  []plan.Axis
	domain  int
	fastest bool    // the objective is time
	near    float64 // see Near; 0: not asked
	sought  bool    // see Seek
}

func newLimits(j *job.Job) limits {
	c := &j.Constraints
	l := limits{
		usable: j.UsableMemory(), host: j.Cluster.HostMemory,
		exposed: float64(c.MaxExposedCommunication.Or(1)),
		domain:  layout.Domain(j), fastest: c.Objective != "memory",
	}
	for _, a := range c.NVLinkOnly {
		l.nvlink = append(l.nvlink, plan.Axis(a))
	}
	l.time(j)
	return l
}

// time turns the limits on the run and min_mfu into one bound on the step.
func (l *limits) time(j *job.Job) {
	c := &j.Constraints
	perStep := func(total float64) units.Seconds {
		return units.Rounded(units.Seconds(total / j.Training.WholeSteps()))
	}
	if perHour := float64(j.AllocatedGPUs()) / 3600; j.Training.Steps > 0 {
		if c.MaxTrainingTime.Set {
			l.within(units.Rounded(goodput.LongestStep(j, c.MaxTrainingTime.Value)), IDTrainingTime)
		}
		if c.MaxGPUHours.Set {
			l.within(perStep(c.MaxGPUHours.Value/perHour), IDGPUHours)
		}
		if price := j.Cluster.PricePerGPUHour; c.MaxCost.Set && price > 0 {
			l.within(perStep(c.MaxCost.Value/price/perHour), IDCost)
		}
	}
	if m := c.MinMFU; m.Set && m.Value > 0 {
		l.within(stepAtMFU(j, m.Value), IDMFU)
	}
}

// noStep is shorter than any step: the bound of a limit that no step meets, such as one
// on the time of a run whose failures alone take longer.
const noStep units.Seconds = 1e-9

// within adds a bound on the step.
func (l *limits) within(step units.Seconds, id diag.ID) {
	step = max(step, noStep)
	if l.step == 0 || step < l.step {
		l.step, l.stepID = step, id
	}
}

// MFU is the model FLOPs utilisation of a step.
func MFU(j *job.Job, step units.Seconds) float64 { return float64(stepAtMFU(j, 1) / step) }

// stepAtMFU is the step time at which the model FLOPs utilisation has a value.
func stepAtMFU(j *job.Job, mfu float64) units.Seconds {
	flops := float64(program.New(&j.Model).ModelFLOPsPerSequence()) * float64(j.Training.GlobalBatchSize)
	peak := float64(j.Cluster.GPU.PeakFLOPS.For(j.Training.Precision)) * float64(j.Cluster.GPUs())
	return units.Rounded(units.Seconds(flops / (peak * mfu)))
}

// checkMemory returns the memory that is short, of the GPU or of its node, and
// the missing share.
func (l *limits) checkMemory(r *estimate.Result) (diag.ID, float64) {
	if n := r.NeededBytes; n > l.usable {
		return IDMemory, float64(n-l.usable) / float64(l.usable)
	}
	if l.host > 0 && r.HostBytes > l.host {
		return IDHostMemory, float64(r.HostBytes-l.host) / float64(l.host)
	}
	return "", 0
}

// checkStep returns the limit on the step's time that a result fails and by
// how much, relative to it.
func (l *limits) checkStep(r *estimate.Result) (diag.ID, float64) {
	if l.step > 0 && r.StepSeconds > l.step {
		return l.stepID, float64((r.StepSeconds - l.step) / l.step)
	}
	return "", 0
}

// checkExposed does the same for the share of exposed communication.
func (l *limits) checkExposed(r *estimate.Result) (diag.ID, float64) {
	if share := float64(r.ExposedCommunicationSeconds / r.StepSeconds); share > l.exposed {
		return IDExposed, share - l.exposed
	}
	return "", 0
}

// kept is how many of the best layouts are kept, the winner among them.
func (l *limits) kept() int {
	if l.sought {
		return mostNearest // which those that are too slow may be
	}
	return Kept + 1
}

// threshold is the cost that a layout must not exceed to enter a full ranking
// by time. A floor of the time, rounded like it, is one of the cost.
func (l *limits) threshold(best *ranking) float64 {
	if !l.fastest || len(best.list) < best.most {
		return math.Inf(1)
	}
	return best.list[best.most-1].cost()
}

// reach is the cost up to which a candidate may be preferred to the best so far.
func (l *limits) reach(best *ranking) float64 {
	switch {
	case !l.fastest: // nothing is
		return 0
	case len(best.list) == 0:
		return math.Inf(1)
	}
	return max(reachOf(&best.list[0]), units.Rounded(best.list[0].cost()*(1+l.near)))
}

// most is the memory above which a layout cannot enter a full ranking by
// memory, as long as no limit asks for its communication.
func (l *limits) most(best *ranking) units.Bytes {
	if l.fastest || l.exposed < 1 || len(best.list) < best.most {
		return math.MaxInt64
	}
	return best.list[best.most-1].Result.PeakDeviceBytes
}

// leavesDomain reports whether an axis that must stay on the fast links does
// not.
func (l *limits) leavesDomain(t *target.Target, p *plan.Layout, gpus int) bool {
	for _, a := range l.nvlink {
		order := t.DenseMesh
		if !slices.Contains(order, a) {
			order = t.ExpertMesh
		}
		if stride := layout.Stride(order, p, a); stride > 0 && !layout.Confined(layout.Size(p, a), stride, l.domain, gpus) {
			return true
		}
	}
	return false
}
