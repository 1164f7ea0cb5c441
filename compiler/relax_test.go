package compiler

import "testing"

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
