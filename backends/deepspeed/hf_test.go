package deepspeed

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestYaRN: transformers takes 0.1·ln(factor) + 1 for what it multiplies cosines and
// sines by, unless it is told mscale and mscale_all_dim, neither of them 0, or the factor.
func TestYaRN(t *testing.T) {
	for _, c := range []struct{ mscale, all, factor float64 }{
		{1, 0, 0}, {1, 1, 0}, {0.707, 1, 0}, {0.707, 0, 1 + 0.0707*math.Log(40)},
	} {
		s := ropeScaling(&job.RopeScaling{Type: "yarn", Factor: 40, OriginalLength: 4096, MScale: c.mscale, MScaleAllDim: c.all}).(render.Object)
		got := 0.0
		for _, m := range s {
			if m.Key == "attention_factor" {
				got = m.Value.(float64)
			}
		}
		if math.Abs(got-c.factor) > 1e-12 {
			t.Errorf("mscale %g and mscale_all_dim %g: attention_factor %g, want %g", c.mscale, c.all, got, c.factor)
		}
	}
}
