package megatron

import (
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestEngines: what the Transformer Engine that a release names keeps and copies. Up
// to 2.12 a step copies moments in bf16 to fp32 (optimizers/fused_adam.py); up to 2.14
// all-gather context parallelism keeps the output twice (context_parallel.py,
// AttnFuncWithCPAndKVAllGather).
func TestEngines(t *testing.T) {
	for name, want := range map[string]struct{ moments, output bool }{
		"core_v0.15.3": {true, true}, "core_v0.16.1": {true, true}, "core_v0.17.0": {false, true}, "core_v0.18.2": {}, "core_v0.19.2": {},
	} {
		v, _ := find(name)
		r := v.runtime(&job.Job{})
		if r.LowPrecision.CopiesMoments != want.moments || r.Attention.CopiesOutput != want.output {
			t.Errorf("%s copies moments %t, outputs %t", name, r.LowPrecision.CopiesMoments, r.Attention.CopiesOutput)
		}
	}
}

// TestWholeMasters: masters are Megatron's own where the recipe in 8 bits is another
// than delayed scaling.
func TestWholeMasters(t *testing.T) {
	v, _ := find("core_v0.19.2")
	for _, c := range []struct {
		precision, recipe string
		want              bool
	}{{"bf16", "", false}, {"fp8", "delayed", false}, {"fp8", "", true}, {"fp8", "blockwise", true}, {"mxfp8", "", true}, {"nvfp4", "", false}} {
		j := &job.Job{}
		j.Training.Precision, j.Training.FP8.Recipe = c.precision, c.recipe
		if got := v.runtime(j).LowPrecision.WholeMasters; got != c.want {
			t.Errorf("%s %s: whole masters %t", c.precision, c.recipe, got)
		}
	}
}
