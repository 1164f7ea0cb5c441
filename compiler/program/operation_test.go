package program

import "testing"

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
