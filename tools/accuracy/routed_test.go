package main

import (
	"math"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// TestRouted: with as many tokens for the busiest rank's experts as
// compiler/estimate/data/routed.json says, a run is predicted to take as much longer as
// the published one with its routers' loads took beside the one with forced loads.
// So the one number that is taken of each pair does not depend on how long either is
// predicted to take.
func TestRouted(t *testing.T) {
	examples, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*example{}
	for i := range examples {
		byID[examples[i].row.ID] = &examples[i]
	}
	records := estimate.RoutedRecords()
	pairs := 0
	for i := range examples {
		x := &examples[i]
		if !x.row.routed() {
			continue
		}
		pairs++
		forced := byID[strings.TrimSuffix(x.row.ID, "-routed")]
		if forced == nil {
			t.Errorf("%s has no run with forced loads beside it", x.row.ID)
			continue
		}
		var of *estimate.Routed
		for k := range records {
			if r := &records[k]; r.Sequence == x.row.Model.SeqLen && r.Routed == x.row.Measured.TFLOPS && r.Forced == forced.row.Measured.TFLOPS {
				of = r
			}
		}
		if of == nil {
			t.Errorf("%s has no record in routed.json", x.row.ID)
			continue
		}
		j := *x.job
		experts := *j.Model.MoE
		experts.LoadImbalance, j.Model.MoE = of.Busiest, &experts
		even := estimate.New(x.job, x.target).Step(&x.layout, &x.exec)
		step := estimate.New(&j, x.target).Step(&x.layout, &x.exec)
		predicted, published := float64(step/even), of.Forced/of.Routed
		t.Logf("%s: %+.1f %% at %.2f times the mean, published %+.1f %%", x.row.ID, 100*(predicted-1), of.Busiest, 100*(published-1))
		if math.Abs(predicted/published-1) > 0.005 {
			t.Errorf("%s: predicted to take %.3f times as long, published %.3f", x.row.ID, predicted, published)
		}
		if of.Experts != x.row.Model.MoE.Experts || of.TopK != x.row.Model.MoE.TopK || of.Held != of.Experts/x.layout.ExpertParallel {
			t.Errorf("%s: %+v", x.row.ID, of)
		}
	}
	if pairs != len(records) {
		t.Errorf("%d runs with their routers' loads, %d records", pairs, len(records))
	}
}
