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

// drawn are rows of machines whose errors are drawn from known spreads.
func drawn(truth *uncertainty.Record, machines, models, each int) []witness {
	r := rand.New(rand.NewPCG(1, 2))
	var out []witness
	for m := range machines {
		var errors [uncertainty.Count]float64
		for _, s := range truth.Terms { // but for those that no row has
			if k := uncertainty.TermNamed(s.Term); k == uncertainty.Linear || k == uncertainty.Attention || k == uncertainty.Network {
				errors[k] = s.Spread * r.NormFloat64()
			}
		}
		for k := range models {
			model := truth.Dense.Model * r.NormFloat64()
			for range each {
				w := witness{x: &example{job: &job.Job{}, target: &target.Target{}}, machine: fmt.Sprint(m), model: fmt.Sprint(m, k)}
				w.ratio = model + truth.Dense.Own*r.NormFloat64()
				rest := 1.0
				for _, t := range []uncertainty.Term{uncertainty.Attention, uncertainty.Network} {
					w.shares[t] = 0.4 * r.Float64()
					rest -= w.shares[t]
				}
				w.shares[uncertainty.Linear] = rest
				for t, s := range w.shares {
					w.step.Terms[t] = units.Seconds(s)
					w.ratio += s * errors[t]
				}
				out = append(out, w)
			}
		}
	}
	return out
}

// TestFitSpreads: the fit finds the spreads that rows were drawn from, some odd
// rows and models among them, and leaves alone what no row has.
func TestFitSpreads(t *testing.T) {
	truth := assumedSpreads()
	for i := range truth.Terms {
		switch s := &truth.Terms[i]; s.Term {
		case "linear":
			s.Spread = 0.1
		case "attention":
			s.Spread = 0.3
		case "network":
			s.Spread = 0.6
		}
	}
	truth.Dense.Model, truth.Dense.Own, truth.Exposed = 0.08, 0.02, 0
	rows := drawn(truth, 30, 4, 6)
	for i := 0; i < len(rows); i += 60 {
		rows[i].ratio += 0.5
	}
	for i := range rows {
		rows[i].ratio += 0.2
		if model := i / 6; model%40 == 7 {
			rows[i].ratio -= 0.6
		}
	}
	fitted := fitSpreads(rows)
	if off := fitted.Dense.Mean - 0.2; math.Abs(off) > 0.05 || fitted.Experts.Mean != 0 {
		t.Errorf("rows take %.3f longer in the mean, mixtures, of which there are none, %.3f; drawn with 0.2", fitted.Dense.Mean, fitted.Experts.Mean)
	}
	got, assumed := effects(fitted), effects(assumedSpreads())
	want := effects(truth)
	for i := range got {
		found, real := *got[i].spread, *want[i].spread
		switch {
		case *assumed[i].spread == real: // not drawn
			if got[i].source != nil && found != real {
				t.Errorf("effect %d, which no row has, became %v from %v", i, found, real)
			}
		case real == 0:
			if found > *assumed[i].spread {
				t.Errorf("effect %d is %v where there is none", i, found)
			}
		case math.Abs(math.Log(found/real)) > 0.35:
			t.Errorf("effect %d is %v, drawn with %v", i, found, real)
		}
	}
}

// TestInverted: a matrix times its inverse is one.
func TestInverted(t *testing.T) {
	a := func() [][]float64 { return [][]float64{{4, 1, 0.5}, {1, 3, 0.2}, {0.5, 0.2, 2}} }
	m, inverse := a(), inverted(a())
	for i := range m {
		for j := range m {
			sum, want := 0.0, 0.0
			for k := range m {
				sum += m[i][k] * inverse[k][j]
			}
			if i == j {
				want = 1
			}
			if math.Abs(sum-want) > 1e-12 {
				t.Errorf("%d, %d: %v", i, j, sum)
			}
		}
	}
}

// TestEvenly: a grid of hundreds counts by a part that is spread over it, smaller sources
// whole, and neither grids whose times say nothing nor layers for which others stand.
func TestEvenly(t *testing.T) {
	var rows []witness
	add := func(machine string, n int, x example) {
		for range n {
			rows = append(rows, witness{x: &x, machine: machine, ratio: float64(len(rows))})
		}
	}
	add("large", 248, example{})
	add("small", rowsOfGrid, example{})
	add("stand-in", 32, example{standIn: true})
	add("order", 50, example{grid: &grid{OrderOnly: "no engine"}})
	count, last, widest := map[string]int{}, 0.0, 0.0
	for _, w := range evenly(rows) {
		count[w.machine]++
		if w.machine == "large" {
			last, widest = w.ratio, max(widest, w.ratio-last)
		}
	}
	if count["large"] != rowsOfGrid || count["small"] != rowsOfGrid || len(count) != 2 {
		t.Errorf("%v", count)
	}
	if last < 240 || widest > 5 {
		t.Errorf("the last row is %v, and %v rows are left out at once", last, widest-1)
	}
}
