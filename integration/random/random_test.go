package random

import (
	"math/rand/v2"
	"testing"

	"github.com/ndc-dev/ndc/diag"
)

// TestDraw: the same randomness gives the same job, another gives another.
func TestDraw(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint64(50) {
		src := Draw(rand.New(rand.NewPCG(7, n)), "megatron", "core_v0.19.2")
		if again := Draw(rand.New(rand.NewPCG(7, n)), "megatron", "core_v0.19.2"); again != src {
			t.Fatal("two jobs of the same randomness differ")
		}
		seen[src] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d different jobs of 50", len(seen))
	}
}

// TestDrawSmall: most of what is drawn for a CPU becomes legal, on four GPUs at most.
func TestDrawSmall(t *testing.T) {
	legal := 0
	for n := range uint64(20) {
		launches, _ := Legal(DrawSmall(rand.New(rand.NewPCG(7, n)), "megatron", "core_v0.19.2", "/folder"))
		for _, l := range launches {
			legal++
			if l.World() > 4 {
				t.Errorf("job %d has %d GPUs", n, l.World())
			}
		}
	}
	if legal < 8 {
		t.Errorf("%d legal jobs of 20", legal)
	}
}

// TestWithout: a block goes as a whole, an argument alone.
func TestWithout(t *testing.T) {
	src := "job \"j\" {\n  a = 1\n  fp8 {\n    b = 2\n  }\n  c = 3\n}"
	at := func(line int) diag.Diagnostic {
		return diag.Diagnostic{Range: diag.Range{Start: diag.Position{Line: line}}}
	}
	for _, c := range []struct {
		errors diag.List
		want   string
	}{
		{diag.List{at(2)}, "job \"j\" {\n  fp8 {\n    b = 2\n  }\n  c = 3\n}"},
		{diag.List{at(3), at(6)}, "job \"j\" {\n  a = 1\n}"},
	} {
		if got, changed := without(src, c.errors); got != c.want || !changed {
			t.Errorf("without %v:\n%s\nwant\n%s", c.errors, got, c.want)
		}
	}
	if got, changed := without(src, diag.List{at(1)}); changed || got != src {
		t.Errorf("a job itself is left out:\n%s", got)
	}
}
