package estimate

import (
	"math"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestCountedKernels works out what a layer of Llama 3 8B moves as huggingface/
// transformers writes it: 8,192 tokens, hidden size 4,096, MLP 14,336, 32 query
// and 8 key heads of 128, 218 million parameters whose gradients are copied
// from 16 bits to fp32.
func TestCountedKernels(t *testing.T) {
	const tokens, hidden, ffn, rotated, parameters = 8192, 4096, 14336, 40 * 128, 218_112_000
	bytes := []float64{
		2 * tokens * hidden * 36, 2 * tokens * hidden * 92.1, // norms
		tokens * hidden * 12, tokens * hidden * 17, // sums
		2 * tokens * hidden * 6, tokens * hidden * 6, // of gradients: of q, k and v, and of gate and up
		tokens * rotated * 20.2, tokens * rotated * 28.2,
		tokens * ffn * 10, tokens * ffn * 18,
		parameters * (2 + 4),
	}
	l, x := single(8), execution()
	l.ZeroStage = 2
	g := targetOf(runtimes.Buckets())
	g.Runtime.Layers.Implementation, g.Runtime.Layers.Elementwise = "transformers", ""
	e := New(jobOf(dense(), 1), g)
	e.Step(&l, &x)
	got := e.step.table.at(0, false, false).lines[lineMemoryBound]
	want := units.Seconds(0)
	for _, n := range bytes {
		want += e.device.Traffic(compute.Elementwise, units.Bytes(n))
	}
	if math.Abs(float64(got/want)-1) > 1e-3 {
		t.Errorf("a layer moves memory for %v, want %v", got, want)
	}
}

// TestEveryImplementation: what is composed of several kernels moves at least
// what one kernel does, every implementation has every operation, and each says
// where it is from.
func TestEveryImplementation(t *testing.T) {
	all := implementations()
	for layers, operations := range all {
		for name, one := range all[fusedLayers] {
			have := operations[name]
			if have.Forward < one.Forward || have.Backward < one.Backward {
				t.Errorf("%s of %s: %v and %v bytes, fused %v and %v", name, layers, have.Forward, have.Backward, one.Forward, one.Backward)
			}
			if have.Source == "" || !slices.Contains([]string{"norm", "permute", "elementwise"}, have.Kernel) {
				t.Errorf("%s of %s: kernel %q, source %q", name, layers, have.Kernel, have.Source)
			}
		}
	}
}

// TestLikeAnother: an implementation that is like another differs from it in
// the operations that it lists, and in no others.
func TestLikeAnother(t *testing.T) {
	records := embedded[[]moved]("layers")
	all, listed := implementations(), map[[2]string]bool{}
	for _, r := range records {
		listed[[2]string{r.Layers, r.Operation}] = true
	}
	for _, r := range records {
		if r.Like == "" {
			continue
		}
		for operation, have := range all[r.Layers] {
			if (have != all[r.Like][operation]) != listed[[2]string{r.Layers, operation}] {
				t.Errorf("%s is like %s: %s is %+v, %+v there", r.Layers, r.Like, operation, have, all[r.Like][operation])
			}
		}
	}
}

// TestAttentionOption: each value of the option attention is timed by the kernel that
// the runtime has for it.
func TestAttentionOption(t *testing.T) {
	r := runtimes.Blocks()
	r.Attention = runtime.Attention{Flash: "flex", Fused: "fused", FlexFlash: "flex_flash", Varlen: "varlen"}
	e := New(jobOf(dense(), 1), targetOf(r))
	for value, want := range map[string]compute.AttentionKernel{
		"flash": compute.Flex, "fused": compute.Fused, "unfused": compute.Unfused, "flex_flash": compute.FlexFlash, "varlen": compute.Varlen,
	} {
		if got := e.kernel(&plan.Execution{Attention: value}); got != want {
			t.Errorf("%s is timed as %s, want %s", value, got, want)
		}
	}
	l, x := single(8), execution()
	last := units.Seconds(math.Inf(1))
	for _, value := range []string{"flash", "flex_flash", "varlen"} { // on Hopper
		x.Attention = value
		e.Step(&l, &x)
		if got := e.step.table.at(0, false, false).lines[lineAttention]; got >= last {
			t.Errorf("%s takes %v, no less than the slower kernel's %v", value, got, last)
		} else {
			last = got
		}
	}
}
