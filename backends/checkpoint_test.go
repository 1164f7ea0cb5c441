package backends

import (
	"math"
	"testing"
)

// TestAutoCheckpointInterval: with the rate of Llama 3's run, 16,384 GPUs are
// interrupted every 54·24 h / 419 = 3.09 h, so a minute of saving is worth
// spending every sqrt(2 · 60 s · 11,135 s) = 1,156 s; a quarter of the GPUs
// doubles that.
func TestAutoCheckpointInterval(t *testing.T) {
	if got := float64(AutoCheckpointInterval(16384)); math.Abs(got-1156) > 1 {
		t.Errorf("16,384 GPUs: %.0f s, want 1,156 s", got)
	}
	if ratio := AutoCheckpointInterval(4096) / AutoCheckpointInterval(16384); math.Abs(float64(ratio)-2) > 1e-9 {
		t.Errorf("a quarter of the GPUs: %v times the interval, want 2", ratio)
	}
}
