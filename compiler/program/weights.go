package program

// Sharding says which groups cut a weight.
type Sharding uint8

// The shardings.
const (
	Replicated     Sharding = iota // the same on every tensor rank
	TensorSharded                  // rows or columns over the tensor group, evenly
	ExpertSharded                  // experts over the expert group, each cut over the expert-tensor group
	ExpertParallel                 // experts over the expert group, whole on every expert-tensor rank
)

// Weight is one parameter tensor of a layer, or one per expert, in full.
type Weight struct {
	Name          string
	Sharding      Sharding
	Rows, Columns int // outputs × inputs of a projection; a vector has one column
	Copies        int // experts; 1 otherwise
}

// Matrix reports whether the tensor is the weight of a matrix multiplication,
// which low-precision recipes and matrix optimizers treat differently from
// vectors.
func (w *Weight) Matrix() bool { return w.Columns > 1 }

// Elements is the size of the whole tensor, all experts together.
func (w *Weight) Elements() int64 {
	return int64(w.Rows) * int64(w.Columns) * int64(w.Copies)
}

// Local is the number of elements of the tensor on one rank. Sizes that the
// groups do not divide are rounded up (package layout rejects them first).
func (w *Weight) Local(s Split) int64 {
	n := w.Elements()
	switch w.Sharding {
	case TensorSharded:
		return ceil(n, s.TensorParallel)
	case ExpertSharded:
		return ceil(n, s.ExpertParallel*s.ExpertTensorParallel)
	case ExpertParallel:
		return ceil(n, s.ExpertParallel)
	}
	return n
}

// Expert reports whether the tensor is reduced over the expert data-parallel
// group instead of the dense one.
func (w *Weight) Expert() bool { return w.Sharding >= ExpertSharded }

func ceil(n int64, by int) int64 { return (n + int64(by) - 1) / int64(by) }

// Weights calls a function with every weight of a layer of a kind and the
// operation that holds it, whose shape is that of a single rank.
func (p *Program) Weights(kind int, visit func(o *Operation, w *Weight)) {
	for _, o := range p.weights[kind] {
		for i := range o.Weights {
			visit(o, &o.Weights[i])
		}
	}
}

// matrix is the weight of a projection.
func matrix(name string, s Sharding, rows, columns int) Weight {
	return Weight{Name: name, Sharding: s, Rows: rows, Columns: columns, Copies: 1}
}

// vector is a bias or the weight of a norm.
func vector(name string, s Sharding, size int) Weight { return matrix(name, s, size, 1) }

// normWeights are the weight of a norm and, for LayerNorm, a bias.
func (b *builder) normWeights(name string, size int) []Weight {
	if b.a.KernelsOnly {
		return nil
	}
	w := b.weights(vector(name+".weight", Replicated, size))
	if b.m.Norm.Kind == "layernorm" {
		w = append(w, vector(name+".bias", Replicated, size))
	}
	return w
}
