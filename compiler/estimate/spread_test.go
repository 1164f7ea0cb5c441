package estimate

import (
	"math"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestHiddenNetwork: communication that hides behind compute makes a step less certain
// as soon as a slower network would bring it out. The upper end of a range holds the step
// on a network that is slower by the 90 % range of its error, the lower end is none of
// its business, and a network with room to spare costs nothing.
func TestHiddenNetwork(t *testing.T) {
	l, x := single(128), execution()
	l.TensorParallel, l.DataParallelShard, l.MicroBatches = 8, 16, 8
	wide := func(bandwidth units.BytesPerSecond) (hidden float64, why string) {
		j := jobOf(dense(), 16)
		j.Cluster.Network.Bandwidth = bandwidth
		e := New(j, targetOf(runtimes.Whole()))
		step, prior := e.Step(&l, &x), e.Prior()
		time := plan.Time{StepSeconds: step}
		why = e.spread(&l, &x, &time, nil)
		ends := time.StepRangeSeconds
		slower := *j
		slower.Cluster.Network.Bandwidth /= units.BytesPerSecond(math.Exp(1.645 * math.Sqrt(prior.Covariance[uncertainty.Network][uncertainty.Network])))
		if on := New(&slower, targetOf(runtimes.Whole())).Step(&l, &x); ends[1] < on {
			t.Errorf("%v: up to %v, on the slower network %v", bandwidth, ends[1], on)
		}
		var s uncertainty.Step
		e.Uncertain(&l, &x, &s)
		ratio := prior.Ratio(&s)
		if want := step * units.Seconds(ratio.Quantile(0.05)); math.Abs(float64(ends[0]/want-1)) > 1e-9 {
			t.Errorf("%v: from %v, want %v", bandwidth, ends[0], want)
		}
		return float64(ends[1]/step) - ratio.Quantile(0.95), why
	}
	plenty, silent := wide(400e9)
	scarce, told := wide(12.5e9)
	if plenty > 1e-4 || strings.Contains(silent, "hides") {
		t.Errorf("a network with room to spare adds %.4f: %s", plenty, silent)
	}
	if scarce < 0.02 || !strings.Contains(told, "communication that hides behind compute") {
		t.Errorf("a network that is nearly too slow adds %.4f: %s", scarce, told)
	}
	t.Logf("%.3f, %.3f\n%s", plenty, scarce, told)
}

// TestRepeatedShare: the share of the least certain term is that of its own line where
// nothing is repeated; where it is more, it says what it counts.
func TestRepeatedShare(t *testing.T) {
	for _, c := range []struct {
		piped     bool
		recompute plan.Recompute
		want      string
	}{
		{false, plan.RecomputeNone, ""},
		{false, plan.RecomputeFull, " with what is recomputed"},
		{true, plan.RecomputeNone, " with its part of the pipeline bubble"},
		{true, plan.RecomputeFull, " with what is recomputed and its part of the pipeline bubble"},
	} {
		l, x := single(128), execution()
		l.TensorParallel, l.DataParallelShard, l.MicroBatches, l.Recompute = 8, 16, 8, c.recompute
		if c.piped {
			l.PipelineParallel, l.PipelineSchedule, l.StageLayers, l.DataParallelShard = 4, plan.Schedule1F1B, []int{8, 8, 8, 8}, 4
		}
		e := New(jobOf(dense(), 16), targetOf(runtimes.Whole()))
		of := e.Describe(&l, &x).Time
		if got := repeated(uncertainty.Linear, &of); got != c.want {
			t.Errorf("%v: %q, want %q", of.Breakdown, got, c.want)
		}
		if got := repeated(uncertainty.HostUpdate, &of); got != "" {
			t.Errorf("what is done once a step has %q", got)
		}
	}
}
