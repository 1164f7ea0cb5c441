package search

import (
	"context"
	"math"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestNear: of every mesh whose fastest layout by brute force is near the fastest of
// all, that layout is found, in order.
func TestNear(t *testing.T) {
	const share = 0.2
	j, target := smallJob(false, 1), smallTarget()
	j.Constraints.Layout.VirtualPipeline = job.IntChoice{Values: []int{1, 2}}
	j.Constraints.Layout.ContextParallel = job.IntChoice{Values: []int{1}}
	j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1, 2}}
	j.Training.GlobalBatchSize = 16
	all, _, _ := everything(j, target)
	want := map[int]float64{} // by mesh
	for i := range all {
		if _, ok := want[all[i].mesh]; !ok && all[i].cost() <= all[0].cost()*(1+share) {
			want[all[i].mesh] = all[i].cost()
		}
	}
	found, prior, err := Near(context.Background(), j, target, share)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for i := range found {
		c := &found[i]
		if cost, ok := want[c.mesh]; ok && cost != c.cost() {
			t.Errorf("the fastest of mesh %d takes %g s, not %g", c.mesh, c.cost(), cost)
		}
		delete(want, c.mesh)
		if c.cost() < last {
			t.Errorf("%g s after %g", c.cost(), last)
		}
		last = c.cost()
		if ratio := float64(c.Step.Terms.Sum()) / c.cost(); math.Abs(ratio-1) > 1e-6 {
			t.Errorf("the terms of layout %d sum to %g of its step", i, ratio)
		}
	}
	if len(want) > 0 || len(found) < 4 || found[0].cost() != all[0].cost() {
		t.Errorf("%d found, missing: %v", len(found), want)
	}
	if prior == nil || prior.Own <= 0 {
		t.Errorf("the prior: %+v", prior)
	}
	j.Constraints.Objective = "memory"
	if none, _, err := Near(context.Background(), j, target, share); err != nil || len(none) > 0 {
		t.Errorf("of the least memory: %d, %v", len(none), err)
	}
}
