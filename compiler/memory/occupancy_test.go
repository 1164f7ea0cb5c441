package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestOccupancyPeaksAtThePrediction: over all passes of a step and the optimizer
// step a rank needs at most what the plan says of its stage, and at one of them
// just that, for every engine, schedule, split, recompute and offload. What it
// keeps between passes is no more.
func TestOccupancyPeaksAtThePrediction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		m := New(j, tg)
		l, x := drawAny(t, j)
		number := rapid.IntRange(0, l.PipelineParallel-1).Draw(t, "rank")
		want := m.Memory(l, x).Stages[number].AllocatedBytes
		e := m.evaluate(l, x)
		ledgers, all := m.follow(&e, number), [numLines]bool{}
		for i := range all {
			all[i] = true
		}
		over := ledgers.holds(&all)
		if got := over.Most(); got != want {
			t.Fatalf("rank %d of %+v holds %d at most, the plan says %d", number, l, got, want)
		}
		for i, p := range over.Passes {
			for k, b := range p.Most {
				if b < 0 || p.Kept[k] < 0 {
					t.Fatalf("rank %d holds %d and then %d of %s in pass %d", number, b, p.Kept[k], lineNames[k].name, i)
				}
			}
			if plan.Sum(p.Kept) > plan.Sum(p.Most) {
				t.Fatalf("rank %d keeps %d after pass %d, which needs %d at most", number, plan.Sum(p.Kept), i, plan.Sum(p.Most))
			}
		}
	})
}
