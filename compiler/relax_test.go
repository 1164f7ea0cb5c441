package compiler

import "testing"

// TestAtLeast: a limit that advice raises is rounded up, so that it still suffices.
func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want string
	}{{37.026, "37.03"}, {14.8104, "14.82"}, {123456, "123500"}, {0.0012341, "0.001235"}, {1000, "1000"}} {
		if got := atLeast(c.n); got != c.want {
			t.Errorf("%v: %s, want %s", c.n, got, c.want)
		}
	}
}

// TestAtMost: a share that advice lowers is rounded down, so that it still suffices.
func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{{0.37093, "0.370"}, {0.5, "0.500"}, {0.01239, "0.0123"}, {0.000853, "0.000853"}, {0.0008539, "0.000853"}} {
		if got := atMost(c.share); got != c.want {
			t.Errorf("%v: %s, want %s", c.share, got, c.want)
		}
	}
}
