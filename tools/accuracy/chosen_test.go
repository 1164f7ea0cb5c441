package main

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// TestClopperPearson: twelve of twelve leave open what happens twelve times in a
// row once in twenty, 0.05^(1/12) = 0.779; five of ten are the textbook's 19 to 81 %.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		hits, n         int
		tails           float64
		wantLow, wantUp float64
	}{{12, 12, 0.1, 0.7791, 1}, {0, 12, 0.1, 0, 0.2209}, {5, 10, 0.05, 0.1871, 0.8129}} {
		low, high := clopperPearson(c.hits, c.n, c.tails)
		if math.Abs(low-c.wantLow) > 1e-4 || math.Abs(high-c.wantUp) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.hits, c.n, low, high, c.wantLow, c.wantUp)
		}
	}
}

// TestShift: kinds of groups count by the squares of their errors, one group alone
// has none, and what is left out has no part in what is expected of it.
func TestShift(t *testing.T) {
	grid := func(longer float64) chosenGroup { return chosenGroup{source: "grids", among: 11, longer: longer} }
	of := func(source string, longer float64) chosenGroup {
		return chosenGroup{source: source, among: 3, longer: longer, ranged: true}
	}
	// Means 2 % ± 1 and 6 % ± 2: (2/1 + 6/4)/(1/1 + 1/4) = 2.8 %.
	groups := []chosenGroup{grid(0.01), grid(0.03), of("a", 0.04), of("b", 0.08)}
	if got := shiftOf(groups); math.Abs(got-0.028) > 1e-12 {
		t.Errorf("of all: %.4f", got)
	}
	if got := shiftOf(without(groups, func(g *chosenGroup) bool { return g.source == "grids" })); math.Abs(got-0.06) > 1e-12 {
		t.Errorf("without the grids: %.4f", got)
	}
	if got := shiftOf(groups[3:]); got != 0 {
		t.Errorf("of one group: %.4f", got)
	}
	if got := scaled(0.0176, 11); got != 0.0176 || math.Abs(scaled(0.0176, 5)-uncertainty.Selection(5)) > 1e-12 {
		t.Errorf("among eleven %.4f, among five %.4f", got, scaled(0.0176, 5))
	}
}

// TestBrier: of a run that failed where 80 % were said and one that ran where 40 %
// were, both predicted above the GPU's memory: (0.2² + 0.4²)/2 against (0 + 1)/2.
func TestBrier(t *testing.T) {
	probable, hard := brier([]forecast{{0.8, 1.02, true}, {0.4, 1.01, false}})
	if math.Abs(probable-0.1) > 1e-12 || hard != 0.5 {
		t.Errorf("%.3f and %.3f", probable, hard)
	}
}
