package main

import (
	"math"
	"testing"
)

// holdTrials holds trials to what they reach on measured grids: of eight runs the
// fastest is the best of the cell within the noise of its measurements, but in one
// of the large cells, which judge little; never worse than that of the eight fastest
// predicted, and far better than that of eight drawn blindly.
func holdTrials(t *testing.T, cells []*cell) {
	t.Helper()
	of := map[bool][]replay{}
	for _, c := range cells {
		_, long, ok := c.replayed()
		if !ok {
			continue
		}
		if near := c.gpus <= judgedGPUs; math.IsNaN(long.ndc) || long.ndc > long.predicted || near && long.ndc > 0 || long.ndc > 0.06 {
			t.Errorf("%s: a trial's regret is %.3f, of the fastest predicted %.3f", c.name, long.ndc, long.predicted)
		}
		of[c.gpus <= judgedGPUs] = append(of[c.gpus <= judgedGPUs], long)
	}
	if near := meanOf(of[true]); len(of[true]) != 9 || near.random < 0.1 {
		t.Errorf("%d cells, of which blind trials have a regret of %.3f", len(of[true]), near.random)
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
