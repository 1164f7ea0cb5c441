package estimate

import (
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Range is the 90 % range of measured over predicted step time for a class of
// jobs, from steps that the parameters were not fitted to. Empty fields match
// every job. Inside holds for what was measured, Beyond for what was not.
type Range struct {
	GPU       string               `json:"gpu"`
	Precision string               `json:"precision"`
	MoE       bool                 `json:"moe"`
	Inside    [2]float64           `json:"inside"`
	Beyond    [2]float64           `json:"beyond"`
	Rows      int                  `json:"rows"`
	Measured  uncertainty.Envelope `json:"measured"`
	Source    string               `json:"source"`
}

// Class is the most specific of some ranges that matches the job.
func Class(ranges []Range, j *job.Job) *Range {
	if j.Model.LayerPattern != "" {
		return hybridRange()
	}
	best, score := &Range{Inside: [2]float64{1, 1}, Beyond: [2]float64{1, 1}}, -1
	for i := range ranges {
		if s := ranges[i].matches(j); s > score {
			best, score = &ranges[i], s
		}
	}
	return best
}

// hybridRange is the range of models with a layer pattern, which nothing was
// fitted to.
var hybridRange = sync.OnceValue(func() *Range {
	r := &Range{}
	readJSON("data/hybrid.json", r)
	return r
})

// matches counts how many fields of a class single out the job; -1 when it is
// of another class.
func (r *Range) matches(j *job.Job) int {
	n := 0
	if r.MoE != (j.Model.MoE != nil) {
		return -1
	}
	for _, f := range [][2]string{{r.GPU, j.Cluster.GPU.Catalog}, {r.Precision, j.Training.Precision}} {
		switch f[0] {
		case "":
		case f[1]:
			n++
		default:
			return -1
		}
	}
	return n
}

// Of is the range of a layout of a job, and in what it lies beyond what was
// measured.
func (r *Range) Of(j *job.Job, l *plan.Layout, engine string) (span [2]float64, outside []string) {
	if j.Model.LayerPattern != "" { // nothing was measured to be outside of
		return r.Beyond, nil
	}
	if outside = r.Measured.Outside(j, l, engine); len(outside) > 0 {
		return r.Beyond, outside
	}
	return r.Inside, nil
}

// span is the 90 % range around a predicted step, by the class of the job in
// data/ranges.json, and what it stands on.
func (e *Evaluator) span(l *plan.Layout, t units.Seconds) (ends [2]units.Seconds, stands string) {
	var ranges []Range
	readJSON("data/ranges.json", &ranges)
	class := Class(ranges, e.job)
	r, outside := class.Of(e.job, l, e.runtime.Calibration.Time)
	stands = class.Source
	if len(outside) > 0 {
		stands += "; this layout lies beyond them: " + strings.Join(outside, ", ")
	}
	return [2]units.Seconds{t * units.Seconds(r[0]), t * units.Seconds(r[1])}, stands
}
