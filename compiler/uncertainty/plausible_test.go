package uncertainty

import "testing"

// TestBeyond: a ratio is beyond a factor on either side of it, and so is what is no number.
func TestBeyond(t *testing.T) {
	for ratio, want := range map[float64]bool{1: false, 3.9: false, 1 / 3.9: false, 4.1: true, 1 / 4.1: true, 0: true} {
		if got := Beyond(ratio, MostOff); got != want {
			t.Errorf("%g times as much: %v", ratio, got)
		}
	}
}
