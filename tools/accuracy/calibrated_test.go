package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestDrawOne: on machines whose terms are off as the spreads say, the same for all models, a calibration
// by terms predicts other models better than one factor, and one factor better
// than nothing.
func TestDrawOne(t *testing.T) {
	record := *uncertainty.Embedded()
	record.Machine.Share = 1
	r := rand.New(rand.NewPCG(3, 4))
	var base, scalar, terms float64
	inside, rows := 0, 0
	for range 60 {
		var machine []*witness
		linear, network := 0.1+0.05*r.NormFloat64(), 0.5+0.2*r.NormFloat64()
		for model := range 6 {
			for k := range 8 {
				w := &witness{x: &example{row: &row{ID: fmt.Sprint(model, k)}, job: &job.Job{}, target: &target.Target{}}}
				w.x.job.Model.HiddenSize = 1024 * (model + 1)
				share := 0.6 * r.Float64()
				w.step.Terms[uncertainty.Linear], w.step.Terms[uncertainty.Network] = units.Seconds(1-share), units.Seconds(share)
				w.ratio = (1-share)*linear + share*network + 0.01*r.NormFloat64()
				machine = append(machine, w)
			}
		}
		s, ok := drawOne(r, machine, &record, &ceilings{})
		if !ok {
			t.Fatal("no draw")
		}
		base, scalar, terms, inside, rows = base+s.base, scalar+s.scalar, terms+s.terms, inside+s.inside, rows+s.rows
	}
	if terms > scalar/1.5 || scalar > base/1.5 {
		t.Errorf("off by %.3f before, %.3f with one factor, %.3f by terms", base/60, scalar/60, terms/60)
	}
	if share := float64(inside) / float64(rows); share < 0.85 {
		t.Errorf("%.0f %% inside the 90 %% range", 100*share)
	}
}

// TestDrawModels: where most of the errors are each model's own, a calibration by
// others of its models does no harm, which one factor does.
func TestDrawModels(t *testing.T) {
	record := uncertainty.Embedded()
	common, own := math.Sqrt(record.Machine.Share), math.Sqrt(1-record.Machine.Share)
	r := rand.New(rand.NewPCG(5, 6))
	var base, scalar, terms float64
	for range 200 {
		var machine []*witness
		linear, network := common*r.NormFloat64(), common*r.NormFloat64()
		for model := range 8 {
			products, links := 0.067*(linear+own*r.NormFloat64()), 0.324*(network+own*r.NormFloat64())
			for k := range 6 {
				w := &witness{x: &example{row: &row{ID: fmt.Sprint(model, k)}, job: &job.Job{}, target: &target.Target{}}}
				w.x.job.Model.HiddenSize = 1024 * (model + 1)
				share := 0.6 * r.Float64()
				w.step.Terms[uncertainty.Linear], w.step.Terms[uncertainty.Network] = units.Seconds(1-share), units.Seconds(share)
				w.ratio = (1-share)*products + share*links + 0.03*r.NormFloat64()
				machine = append(machine, w)
			}
		}
		s, ok := drawOne(r, machine, record, &ceilings{})
		if !ok {
			t.Fatal("no draw")
		}
		base, scalar, terms = base+s.base, scalar+s.scalar, terms+s.terms
	}
	if terms > base || terms > scalar/1.1 {
		t.Errorf("off by %.4f before, %.4f with one factor, %.4f by terms", base/200, scalar/200, terms/200)
	}
}
