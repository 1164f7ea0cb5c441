package main

import (
	"math"
	"testing"
)

// holdTrials holds trials to what they reach on measured grids: the fastest of eight
// runs is never worse than that of the eight fastest predicted, and in the mean far
// better than that of eight drawn blindly. On nanotron's it is the best of the cell,
// but in one of the large cells, which judge little.
func holdTrials(t *testing.T, cells []*cell) {
	t.Helper()
	of := map[string][]replay{}
	for _, c := range cells {
		_, long, ok := c.replayed()
		if !ok {
			continue
		}
		most := map[string]float64{"nanotron up to 64 GPUs": 0, "nanotron beyond 64 GPUs, which judge little": 0.06, "AA-Scaling": 0.16}[c.kind()]
		if math.IsNaN(long.ndc) || long.ndc > long.predicted || long.ndc > most {
			t.Errorf("%s: a trial's regret is %.3f, of the fastest predicted %.3f", c.name, long.ndc, long.predicted)
		}
		of[c.kind()] = append(of[c.kind()], long)
	}
	for kind, held := range map[string]struct {
		cells int
		blind float64 // at least, or the cells tell nothing
	}{"nanotron up to 64 GPUs": {9, 0.1}, "AA-Scaling": {11, 0.06}} {
		if all := meanOf(of[kind]); len(of[kind]) != held.cells || all.random < held.blind || all.ndc > all.random/2 {
			t.Errorf("%s: %d cells, regret %.3f, of blind trials %.3f", kind, len(of[kind]), all.ndc, all.random)
		}
	}
}

// TestMeanLeast: against all draws of two of four.
func TestMeanLeast(t *testing.T) {
	if got, want := meanLeast([]float64{1, 2, 4, 8}, 2), (3*1+2*2+4)/6.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
	if got, want := meanLeast([]float64{1, 2, math.Inf(1), math.Inf(1)}, 2), (3*1+2*2)/5.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("of two that are finite: %g, want %g", got, want)
	}
}
