package memory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
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

// TestWaitingPass: the first rank makes no gradients of its inputs, so that this pass of a
// split backward holds what the pass before it left, and nothing is gathered for it.
func TestWaitingPass(t *testing.T) {
	j := gpt(2048, 32, 512)
	j.Model.Layers, j.Model.TiedEmbeddings, j.Model.Activation.Kind = 8, false, "swiglu"
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, PipelineSchedule: plan.ScheduleZBH1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 2}
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1, ContextParallelType: "ring", ReshardAfterForward: true}
	m := New(j, targetOf(runtimes.Blocks()))
	first := m.Occupancy(l, x).Ranks[0]
	waits := 0
	for i, p := range schedule.NewRank(shapeOf(l, x), 0).Ranks[0] {
		if p.Work != schedule.InputGradient {
			continue
		}
		waits++
		if before := first.Passes[i-1].Kept; !slices.Equal(first.Passes[i].Most, before) || !slices.Equal(first.Passes[i].Kept, before) {
			t.Errorf("pass %d: %v and %v, after %v", i, first.Passes[i].Most, first.Passes[i].Kept, before)
		}
	}
	if got, want := first.Most(), m.Memory(l, x).Stages[0].AllocatedBytes; waits != 2 || got != want {
		t.Errorf("%d passes wait; the rank holds %d at most, the plan says %d", waits, got, want)
	}
}
