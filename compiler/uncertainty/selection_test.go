package uncertainty

import (
	"math"
	"testing"
)

// TestLargest holds Blom's formula to the means of the largest of 2, 5, 11 and 100
// (Harter 1961, Expected values of normal order statistics, table 1).
func TestLargest(t *testing.T) {
	for n, want := range map[int]float64{0: 0, 1: 0, 2: 0.56419, 5: 1.16296, 11: 1.58644, 100: 2.50759} {
		if got := Largest(n); math.Abs(got-want) > 0.03 {
			t.Errorf("largest of %d: %.4f, want %.4f", n, got, want)
		}
	}
}

// TestSelection: nothing without a choice, what was measured of as many, and more of
// more.
func TestSelection(t *testing.T) {
	if selection.Among < 2 || selection.Source == "" {
		t.Errorf("%+v is not what was measured", selection)
	}
	if got := Selection(1); got != 0 {
		t.Errorf("of one: %v", got)
	}
	if got := Selection(selection.Among); got != selection.Mean {
		t.Errorf("of %d: %v, measured %v", selection.Among, got, selection.Mean)
	}
	for n := range 40 {
		if Selection(n+2) <= Selection(n+1) {
			t.Errorf("of %d: %v, of one less %v", n+2, Selection(n+2), Selection(n+1))
		}
	}
}
