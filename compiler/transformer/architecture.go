// Package transformer says what is built when a job's model is put on ranks:
// the parameter tensors of every kind of layer and how tensor and expert
// parallelism cut them, the matrix products of a forward pass on one rank, and
// the model FLOPs under one convention.
//
// It counts elements, shapes and operations. It knows neither bytes (package
// memory: state, activations), nor seconds (package compute: kernel times),
// nor legality (package layout), nor any framework by name; where frameworks
// build differently, a field of [Architecture] says how.
package transformer

import "github.com/ndc-dev/ndc/lang/job"

// Kind is one kind of layer. Layers of the same kind have the same tensors and
// the same work.
type Kind struct {
	MoE    bool // mixture of experts instead of one MLP
	Window int  // keys a query attends to; 0: all before it
	MTP    bool // multi-token-prediction layer: a projection, two norms, an inner layer, a norm
}

// Architecture is a model prepared for counting. It is read-only after [New].
type Architecture struct {
	Model *job.Model

	// Separate says that q, k and v, and gate and up, are projected by matrix
	// products of their own (torchtitan, Hugging Face); otherwise they are fused
	// (Megatron). It changes shapes of products, never counts of elements.
	Separate bool

	kinds  []Kind
	layers []int // kind of each decoder layer
	mtp    int   // kind of the MTP layers; -1 without
	totals []int // decoder layers per kind
	prefix [][]int
	tensor [][]Tensor // per kind
}

// New prepares a model. The model must be complete (package lang fills in
// defaults); New panics on sizes that are not positive.
func New(m *job.Model) *Architecture {
	if m.Layers <= 0 || m.HiddenSize <= 0 || m.AttentionHeads <= 0 || m.VocabSize <= 0 {
		panic("transformer: model without layers, hidden size, heads or vocabulary")
	}
	a := &Architecture{Model: m, mtp: -1, layers: make([]int, m.Layers)}
	for i := range a.layers {
		a.layers[i] = a.kindIndex(Kind{MoE: m.IsMoELayer(i), Window: window(m, i)})
	}
	if m.MTPLayers > 0 {
		inner := a.kinds[a.layers[m.Layers-1]]
		inner.MTP = true
		a.mtp = a.kindIndex(inner)
	}
	a.count()
	return a
}

// kindIndex finds or adds a kind.
func (a *Architecture) kindIndex(k Kind) int {
	for i, have := range a.kinds {
		if have == k {
			return i
		}
	}
	a.kinds = append(a.kinds, k)
	return len(a.kinds) - 1
}

// count fills the tables that depend on the kinds.
func (a *Architecture) count() {
	a.totals = make([]int, len(a.kinds))
	a.prefix = make([][]int, len(a.kinds))
	a.tensor = make([][]Tensor, len(a.kinds))
	for k, kind := range a.kinds {
		a.tensor[k] = layerTensors(a.Model, kind)
		a.prefix[k] = make([]int, len(a.layers)+1)
		for i, of := range a.layers {
			a.prefix[k][i+1] = a.prefix[k][i]
			if of == k {
				a.prefix[k][i+1]++
				a.totals[k]++
			}
		}
	}
}

// window is the number of keys that decoder layer i attends to; 0: all.
// With a pattern p, every p-th layer (p-1, 2p-1, …) attends to everything.
func window(m *job.Model, i int) int {
	w := m.SlidingWindow
	if w.Size == 0 || w.Size >= m.SequenceLength || w.Pattern > 0 && i%w.Pattern == w.Pattern-1 {
		return 0
	}
	return w.Size
}

// Kinds lists the distinct kinds of layer in order of first appearance, the
// MTP kind last.
func (a *Architecture) Kinds() []Kind { return a.kinds }

// KindOf is the index into [Architecture.Kinds] of decoder layer i (from 0).
func (a *Architecture) KindOf(i int) int { return a.layers[i] }

// MTPKind is the index of the kind of the MTP layers, -1 when there are none.
func (a *Architecture) MTPKind() int { return a.mtp }

// Count is the number of layers of a kind among decoder layers [first, end).
func (a *Architecture) Count(kind, first, end int) int {
	return a.prefix[kind][end] - a.prefix[kind][first]
}
