package compiler

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestDistinct: layouts that differ in what is recomputed or in how layers are cut are
// one choice, and without time as the objective there was none.
func TestDistinct(t *testing.T) {
	layout := func(tensor int, recompute plan.Recompute, stages ...int) search.Candidate {
		return search.Candidate{Layout: plan.Layout{TensorParallel: tensor, Recompute: recompute, StageLayers: stages}}
	}
	best := []search.Candidate{layout(1, plan.RecomputeNone, 2, 2), layout(1, plan.RecomputeFull, 2, 2), layout(1, plan.RecomputeNone, 1, 3), layout(2, plan.RecomputeNone, 2, 2)}
	for objective, want := range map[string]int{"throughput": 2, "time": 2, "cost": 2, "memory": 1} {
		j := &job.Job{Constraints: job.Constraints{Objective: objective}}
		if got := distinct(j, &search.Outcome{Best: best}); got != want {
			t.Errorf("by %s: %d, want %d", objective, got, want)
		}
		if got := distinct(j, &search.Outcome{Best: best[:1], Over: best[1:]}); got != want {
			t.Errorf("by %s, where all but one take longer than a limit: %d, want %d", objective, got, want)
		}
	}
}

// TestExpect: nothing is expected but what is predicted where nothing was chosen;
// else step and range shift by one factor.
func TestExpect(t *testing.T) {
	for _, among := range []int{1, 2, 11} {
		p := plan.Time{StepSeconds: 10, StepRangeSeconds: [2]units.Seconds{9, 12}}
		expect(&p, among)
		longer := math.Exp(uncertainty.Selection(among))
		for _, c := range []struct{ got, want float64 }{
			{float64(p.ExpectedSeconds), 10 * longer}, {float64(p.StepRangeSeconds[0]), 9 * longer}, {float64(p.StepRangeSeconds[1]), 12 * longer}, {float64(p.StepSeconds), 10},
		} {
			if math.Abs(c.got-c.want) > 1e-6 {
				t.Errorf("among %d: %v, want %v", among, c.got, c.want)
			}
		}
		if p.ChosenAmong != among || (among == 1) != (p.ExpectedSeconds == p.StepSeconds) {
			t.Errorf("among %d: %+v", among, p)
		}
	}
}
