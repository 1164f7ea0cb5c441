package program

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestBackward spells out what is alive while a block of three operations runs
// backward: the gradient of the stream all the time; behind the last operation its
// weights' gradient, and no more what it kept.
func TestBackward(t *testing.T) {
	kept := func(bytes int64) []Tensor {
		return []Tensor{{Bytes: bytes, Autograd: true}, {Bytes: 1 << 30, Operator: true}}
	}
	for _, c := range []struct {
		name                string
		first, middle, last Operation
		want                int64
	}{
		{"last", Operation{}, Operation{}, Operation{Backward: 50, WeightGradient: 3, Tensors: kept(40)}, 7 + 50 + 3},
		{"middle", Operation{Tensors: kept(9)}, Operation{Backward: 90, Tensors: kept(9)}, Operation{Backward: 50, WeightGradient: 3, Tensors: kept(40)}, 7 + 90 + 3 - 40},
		{"first", Operation{Backward: 200, WeightGradient: 1}, Operation{Backward: 90, WeightGradient: 2, Tensors: kept(9)}, Operation{WeightGradient: 3, Tensors: kept(40)}, 7 + 200 + 1 + 2 + 3 - 40 - 9},
		{"no less than nothing", Operation{}, Operation{}, Operation{Backward: -100, Tensors: kept(40)}, 0},
	} {
		b := Block{Operations: []Operation{c.first, c.middle, c.last}, Stream: 7}
		if got := b.Backward(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// TestRemade: the operation that adds most when it runs again, and its gradient,
// gathered where the output was reduced; recompute by operators keeps such outputs.
func TestRemade(t *testing.T) {
	b := Block{Stream: 7, Gathered: 28, Operations: []Operation{{Forward: 5}, {Forward: 60, After: TensorReduce}, {Forward: 4}}}
	if bytes, incoming := b.Remade(false); bytes != 60 || incoming != 35 {
		t.Errorf("%d bytes while %d wait", bytes, incoming)
	}
	if bytes, incoming := b.Remade(true); bytes != 5 || incoming != 7 {
		t.Errorf("by operators: %d bytes while %d wait", bytes, incoming)
	}
}

// TestMixersKeep: a mixer keeps what its first projection made, the output of its scan,
// what the norm behind it made, statistics of 4 bytes, and what docs/memory.md lists
// besides, per token of Nemotron-H 8B and Qwen3-Next 80B.
func TestMixersKeep(t *testing.T) {
	m := &job.Model{Layers: 2, LayerPattern: "MG", HiddenSize: 2048, Attention: job.Attention{Heads: 16, KVHeads: 2, HeadDim: 128}, VocabSize: 1024, SequenceLength: 256, Norm: job.Norm{Kind: "rmsnorm"},
		Mamba:    &job.Mamba{Heads: 128, HeadDim: 64, StateDim: 128, Groups: 8, ConvKernel: 4},
		DeltaNet: &job.DeltaNet{KeyHeads: 16, ValueHeads: 32, KeyHeadDim: 128, ValueHeadDim: 128, ConvKernel: 4}}
	p := New(m)
	for k, want := range []int64{(18560+3*8192)*2 + 4, (12352+4096+8192+5*4096+68*32)*2 + 4} {
		s := Shape{Split: Split{TensorParallel: 1, ExpertParallel: 1, ExpertTensorParallel: 1}, ContextParallel: 1, MicroBatch: 1}
		a := Assembly{Layers: runtime.Layers{DeltaNetChunk: 64, MambaChunk: 128}}
		a.Types.Compute, a.Types.Input = 2, 2
		kept := int64(0)
		p.Layer(k, &s, &a).Operations(func(o *Operation) {
			if o.Component == Mixer && o.Kind != Norm {
				kept += o.Kept()
			}
		})
		if kept != 256*want {
			t.Errorf("%s: %d bytes, want %d", p.Kinds()[k].Blocks, kept, 256*want)
		}
	}
}
