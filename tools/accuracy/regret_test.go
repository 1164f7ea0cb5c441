package main

import (
	"math"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestChoice holds what the choice reaches on measured grids: better than the rule of
// thumb in the mean, feasible what is certain, and on those of nanotron in no cell
// worse than the rule beyond noise. (The rule knows what ran. On A100s it takes the
// 13B model without any parallelism, which filled the card.)
func TestChoice(t *testing.T) {
	results, err := predicted()
	if err != nil {
		t.Fatal(err)
	}
	if _, grids := forecasts(results); len(grids) < 50 {
		t.Errorf("%d rows of grids are predicted near the GPU's memory", len(grids))
	} else if probable, hard := brier(grids); probable >= hard {
		t.Errorf("probabilities of running out of memory are off by %.3f, a hard threshold by %.3f", probable, hard)
	}
	cells := cellsOf(results)
	for of, held := range map[string]struct {
		cells     int
		regret    float64 // at most, in the mean
		worse     float64 // than the rule at most, beyond noise
		missed    float64 // share of runs called infeasible
		surprises float64 // share of failures for want of memory that are called feasible
	}{"nanotron": {9, 0.003, 0, 0.01, 0}, "AA-Scaling": {12, 0.043, 0.17, 0.026, 0.08}} {
		judged, ndc, rule := 0, 0.0, 0.0
		mine := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.grid.Of != of })
		for _, c := range mine {
			if c.far() {
				continue
			}
			judged++
			j := c.judge()
			if math.IsNaN(j.ndc.regret) {
				t.Errorf("%s: what is chosen did not run", c.name)
				continue
			}
			ndc, rule = ndc+j.ndc.regret, rule+j.rule.regret
			if j.ndc.regret > j.rule.regret+c.grid.Noise+held.worse {
				t.Errorf("%s: regret %s %%, of the rule %s %%", c.name, j.ndc, j.rule)
			}
		}
		if judged != held.cells || ndc > rule/3 || ndc > held.regret*float64(judged) {
			t.Errorf("%s: %d cells, regret %.3f in all beside %.3f of the rule", of, judged, ndc, rule)
		}
		v := gridVerdictsOf(mine)
		sure, called := v.lost["certain"]+v.lost["reported"], v.called["certain"]+v.called["reported"]
		if float64(called) > held.surprises*float64(sure) || float64(v.missed) > held.missed*float64(v.ran) {
			t.Errorf("%s: failures called feasible: %d of %d; runs called infeasible: %d of %d", of, called, sure, v.missed, v.ran)
		}
	}
	holdTrials(t, cells)
}

// TestJudge: a choice that did not run has no regret, one configuration that
// was measured twice the better one, and the rule reads no prediction.
func TestJudge(t *testing.T) {
	tried := func(micro, tensor int, measured, predicted float64, feasible bool) *result {
		r := &result{predicted: predicted, Verdict: &verdictResult{Feasible: feasible}, Choice: &scoreResult{Score: predicted}, judge: true}
		r.example = &example{row: &row{}}
		r.example.layout = plan.Layout{TensorParallel: tensor, PipelineParallel: 1, MicroBatchSize: micro}
		r.example.job = &job.Job{}
		if measured > 0 {
			r.Time = &timeResult{MeasuredSeconds: measured}
		}
		return r
	}
	c := &cell{best: 2, ran: 3, lost: 1, tried: []*result{
		tried(1, 1, 4, 3, true), tried(1, 1, 3, 3, true), tried(2, 2, 2, 2.5, true), tried(4, 1, 0, 1, false),
	}}
	j := c.judge()
	if j.ndc.regret != 0 || j.argmin.taken != c.tried[2] || j.rule.regret != 0.5 || math.Abs(j.random-0.5) > 1e-12 {
		t.Errorf("%+v", j)
	}
	c.tried[3].Verdict.Feasible = true
	if j := c.judge(); !math.IsNaN(j.argmin.regret) || j.argmin.String() != "did not run" {
		t.Errorf("a layout that did not run: %s", j.argmin)
	}
}

// TestOptimism: a chosen layout that takes longer than predicted by 5 % more than
// those behind it is optimistic by that; one that did not run says nothing.
func TestOptimism(t *testing.T) {
	ran := func(micro int, measured, predicted float64) *result {
		r := &result{predicted: predicted, Verdict: &verdictResult{Feasible: true}, Time: &timeResult{MeasuredSeconds: measured}, example: &example{row: &row{}, job: &job.Job{}}}
		r.example.layout.MicroBatchSize = micro
		return r
	}
	judged := func(off float64) judgement {
		c := &cell{tried: []*result{ran(1, off, 1)}}
		for i := range runnersUp {
			c.tried = append(c.tried, ran(2+i, 2.2+float64(i), 2+float64(i)/1.1))
		}
		return judgement{cell: c, ndc: choice{taken: c.tried[0]}}
	}
	lost := judged(1)
	lost.ndc.taken = &result{}
	all := optimism([]judgement{judged(1.1 * 1.05), judged(1.1 * 1.05), lost})
	if mean, deviation := meanWithError(all); len(all) != 2 || math.Abs(mean-math.Log(1.05)) > 1e-9 || deviation > 1e-6 {
		t.Errorf("%v with a standard error of %v, of %d", mean, deviation, len(all))
	}
}
