package estimate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestUneven: a mixture that does not say how unevenly its experts are loaded
// says what that may cost; one that does, one that drops tokens, one whose ranks
// hold all experts and a short run say nothing.
func TestUneven(t *testing.T) {
	told := func(change func(*job.Job, *plan.Layout)) (*Evaluator, *plan.Layout, []plan.Warning) {
		j := jobOf(moe(), 2)
		j.Training.Steps = 100_000
		l, x := single(16), execution()
		l.ExpertParallel, l.DataParallelShard, l.MicroBatches = 8, 16, 16
		change(j, &l)
		e := New(j, targetOf(runtimes.Whole()))
		return e, &l, e.uneven(&l, &x, e.Step(&l, &x))
	}
	for _, c := range []struct {
		name   string
		change func(*job.Job, *plan.Layout)
		want   int
	}{
		{"as it is", func(*job.Job, *plan.Layout) {}, 1},
		{"stated", func(j *job.Job, _ *plan.Layout) {
			j.Sources = job.Sources{"model.moe.load_imbalance": {Origin: job.FromSpec}}
		}, 0},
		{"by default", func(j *job.Job, _ *plan.Layout) {
			j.Sources = job.Sources{"model.moe.load_imbalance": {Origin: job.FromDefault}}
		}, 1},
		{"tokens dropped", func(j *job.Job, _ *plan.Layout) { j.Model.MoE.TokenDrop = true }, 0},
		{"all experts on each rank", func(_ *job.Job, l *plan.Layout) { l.ExpertParallel = 1 }, 0},
		{"dense", func(j *job.Job, l *plan.Layout) { j.Model, l.ExpertParallel = dense(), 1 }, 0},
		{"trial", func(j *job.Job, _ *plan.Layout) { j.Training.Steps = 10 }, 0},
	} {
		if _, _, got := told(c.change); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}

	_, _, long := told(func(_ *job.Job, l *plan.Layout) { l.MicroBatches = 1 << 16 })
	if strings.Contains(long[0].Detail, "e+") {
		t.Errorf("a long step in %s", long[0].Detail)
	}

	e, l, got := told(func(*job.Job, *plan.Layout) {})
	x := execution()
	even := e.Step(l, &x)
	last := even
	for _, busiest := range []float64{1.07, 1.8} {
		j := jobOf(moe(), 2)
		j.Model.MoE.LoadImbalance = busiest
		step := New(j, targetOf(runtimes.Whole())).Step(l, &x)
		want := fmt.Sprintf("%.3g s (%+.1f %%) at %.3g times the mean", float64(step), 100*float64(step/even-1), busiest)
		if step <= last || !strings.Contains(got[0].Detail, want) {
			t.Errorf("no %q in %s", want, got[0].Detail)
		}
		last = step
	}
}

// TestRoutedRecords: each run was published with both loads, and was slower with
// its routers' own.
func TestRoutedRecords(t *testing.T) {
	for _, r := range RoutedRecords() {
		if r.Routed >= r.Forced || r.Busiest <= 1 || r.Busiest > float64(r.Experts/r.Held) || r.Source == "" {
			t.Errorf("%+v", r)
		}
	}
}

// TestAlone: an exchange hides behind another micro-batch, which a step of one lacks.
func TestAlone(t *testing.T) {
	e := New(jobOf(moe(), 2), targetOf(runtimes.Whole()))
	gain := func(microBatches int) units.Seconds {
		l, x := single(16), execution()
		l.ExpertParallel, l.MicroBatches = 16, microBatches
		y := x
		y.OverlapExpertParallel = true
		return e.Step(&l, &x) - e.Step(&l, &y)
	}
	for _, n := range []int{2, 1, 4} { // one after another, by one evaluator
		if got := gain(n); (got > 0) != (n > 1) {
			t.Errorf("%d micro-batches gain %v", n, got)
		}
	}
}
