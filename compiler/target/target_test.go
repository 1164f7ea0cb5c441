package target

import "testing"

func TestTorchBefore(t *testing.T) {
	for _, c := range []struct {
		torch        string
		major, minor int
		want         bool
	}{
		{"1.12", 1, 13, true}, {"1.13", 1, 13, false}, {"2.0", 1, 13, false}, {"1.13.1", 2, 0, true},
		{"2.9", 2, 11, true}, {"2.11", 2, 9, false}, {"", 2, 2, false}, {"nightly", 2, 2, false},
	} {
		if got := (&Target{Torch: c.torch}).TorchBefore(c.major, c.minor); got != c.want {
			t.Errorf("torch %q before %d.%d: %v", c.torch, c.major, c.minor, got)
		}
	}
}
