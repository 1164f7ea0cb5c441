package runtime_test

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestPerMicroBatch spells out what every micro-batch communicates, by
// zero_stage, without and with a pipeline (docs/time.md, "Sharded state").
func TestPerMicroBatch(t *testing.T) {
	const gathersForward, gathersBackward, reduces = 1, 2, 4
	all := gathersForward | gathersBackward | reduces
	whole, blocks, buckets := runtimes.Whole(), runtimes.Blocks(), runtimes.Buckets()
	for _, c := range []struct {
		name             string
		policy           *runtime.Sharding
		alone, pipelined [4]int
	}{
		{"whole", whole.ShardingOf(&plan.Execution{}), [4]int{}, [4]int{}},
		{"whole, fully sharded", whole.ShardingOf(&plan.Execution{FullySharded: true}), [4]int{0, 0, reduces, all}, [4]int{0, 0, reduces, all}},
		{"blocks", blocks.ShardingOf(&plan.Execution{}), [4]int{reduces, reduces, gathersForward | reduces, all}, [4]int{0, 0, 0, gathersForward | gathersBackward}},
		{"buckets", buckets.ShardingOf(&plan.Execution{}), [4]int{0, 0, reduces, all}, [4]int{0, 0, reduces, all}},
	} {
		for zero := range 4 {
			for stages, want := range map[int]int{1: c.alone[zero], 2: c.pipelined[zero]} {
				p, got := c.policy.PerMicroBatch(&plan.Layout{ZeroStage: zero, PipelineParallel: stages}), 0
				for bit, set := range []bool{p.GatherForward, p.GatherBackward, p.Reduce} {
					if set {
						got |= 1 << bit
					}
				}
				if got != want {
					t.Errorf("%s, zero_stage %d, %d stages: %03b, want %03b", c.name, zero, stages, got, want)
				}
			}
		}
	}
}

// TestParts: what stays whole is one part, and so are the logits of a head that
// does.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		cut                     runtime.TensorParallel
		embedding, head, logits int
	}{
		{runtime.TensorParallel{}, 4, 4, 4},
		{runtime.TensorParallel{WholeEmbedding: true}, 1, 4, 4},
		{runtime.TensorParallel{WholeHead: true}, 4, 1, 1},
		{runtime.TensorParallel{WholeLogits: true}, 4, 4, 1},
	} {
		if e, h, l := c.cut.EmbeddingParts(4), c.cut.HeadParts(4), c.cut.LogitParts(4); e != c.embedding || h != c.head || l != c.logits {
			t.Errorf("%+v: %d, %d, %d parts, want %d, %d, %d", c.cut, e, h, l, c.embedding, c.head, c.logits)
		}
	}
}
