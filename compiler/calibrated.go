package compiler

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// calibrated says how the calibration of the job's cluster moved the prediction
// of a layout, and what was measured of plans with a likeness; nil without a calibration.
func calibrated(j *job.Job, t *target.Target, c *search.Candidate, likeness string) *plan.Calibration {
	of := j.Cluster.Calibration
	if of == nil {
		return nil
	}
	p := &plan.Calibration{File: of.File, SHA256: of.SHA256, Trained: of.Ran, Terms: []plan.CalibratedTerm{}, Reserved: of.Reserved}
	for k, f := range uncertainty.Factors(of) {
		if f != 1 {
			p.Terms = append(p.Terms, plan.CalibratedTerm{Term: uncertainty.Term(k).String(), Name: uncertainty.Term(k).Words(), Factor: units.Rounded(f)})
		}
	}
	sum := 0.0
	for _, run := range of.Runs {
		if run.Likeness == likeness {
			p.Runs++
			sum += math.Log(float64(run.StepSeconds))
		}
	}
	if p.Runs > 0 {
		p.Measured = units.Rounded(units.Seconds(math.Exp(sum / float64(p.Runs))))
	}
	plain := *j
	plain.Cluster.Calibration = nil
	var r estimate.Result
	e := estimate.New(&plain, t)
	e.EvaluateMemory(&c.Layout, &c.Execution, &r)
	e.EvaluateTime(&c.Layout, &c.Execution, &r)
	p.StepSeconds, p.DeviceBytes = units.Rounded(r.StepSeconds), units.Bytes(math.Round(float64(r.PeakDeviceBytes)))
	return p
}
