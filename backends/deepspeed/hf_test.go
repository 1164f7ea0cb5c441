package deepspeed

import (
	"math"
	"slices"
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

// TestPlainRotations: without scaling gpt-oss rotates plainly, where transformers takes
// a null for its own YaRN, of factor 32.
func TestPlainRotations(t *testing.T) {
	m := &job.Model{Architecture: "gpt_oss", Layers: 2, MoE: &job.MoE{Experts: 4, TopK: 2}, PositionEmbedding: job.PositionEmbedding{Kind: "rope", Theta: 10000}}
	for _, scaling := range []*job.RopeScaling{nil, {Type: "linear", Factor: 2}} {
		m.PositionEmbedding.Scaling = scaling
		want := "default"
		if scaling != nil {
			want = scaling.Type
		}
		config := gptOSSConfig(m, families["gpt_oss"])
		i := slices.IndexFunc(config, func(member render.Member) bool { return member.Key == "rope_scaling" })
		if i < 0 {
			t.Fatal("no rope_scaling")
		}
		if said, ok := config[i].Value.(render.Object); !ok || said[0].Value != want {
			t.Errorf("rope_scaling is %v, want rope_type %q", config[i].Value, want)
		}
	}
}
