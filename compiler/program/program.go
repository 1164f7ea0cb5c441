// Package program says what one micro-batch computes on one rank: a model is a
// pattern of layers, a layer a list of blocks, a block a list of operations.
// Each [Operation] states its weights, its shape, the tensors that it leaves
// for the backward pass, the memory traffic and the collectives beside it.
// Parameters, matrix multiplications, FLOPs and activation bytes are folds over
// that list, here and in the sibling packages, so that a layer is described
// once. A new kind of block is one file here.
//
// It counts elements, shapes, operations and, given the sizes of types, bytes.
// It knows neither what a rank holds when (package memory), nor seconds
// (packages compute and estimate), nor legality (package layout). Where runtimes
// build a block differently, a field of [Assembly] says how.
package program

import (
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
)

// Kind is one kind of layer. Layers of the same kind have the same operations.
type Kind struct {
	Blocks string // in order, as letters of a layer pattern (package job): "*-" is attention and an MLP
	MoE    bool   // one of the blocks is a mixture of experts
	Window int    // keys a query attends to; 0: all before it
	MTP    bool   // multi-token-prediction layer: a projection, two norms, an inner layer, a norm
}

// kindOf is the kind of a layer of the given blocks, which looks through a
// window where it has attention.
func kindOf(blocks string, window int) Kind {
	if !strings.ContainsRune(blocks, job.AttentionBlock) {
		window = 0
	}
	return Kind{Blocks: blocks, MoE: strings.ContainsRune(blocks, job.ExpertsBlock), Window: window}
}

// Has reports whether a layer has a block.
func (k Kind) Has(block rune) bool { return strings.ContainsRune(k.Blocks, block) }

// Program is a model prepared for listing. It is read-only after [New].
type Program struct {
	Model *job.Model

	kinds   []Kind
	layers  []int // kind of each decoder layer
	mtp     int   // kind of the MTP layers; -1 without
	totals  []int // decoder layers per kind
	prefix  [][]int
	weights [][]*Operation // per kind: the operations that have weights, for a single rank
}

// New prepares a model. The model must be complete (package lang fills in
// defaults); New panics on sizes that are not positive.
func New(m *job.Model) *Program {
	if m.Layers <= 0 || m.HiddenSize <= 0 || m.Attention.Heads <= 0 || m.VocabSize <= 0 {
		panic("program: model without layers, hidden size, heads or vocabulary")
	}
	p := &Program{Model: m, mtp: -1, layers: make([]int, m.Layers)}
	for i := range p.layers {
		p.layers[i] = p.kindIndex(kindOf(m.LayerBlocks(i), window(m, i)))
	}
	if m.MTP.Layers > 0 {
		inner := kindOf(m.MTPBlocks(), window(m, m.Layers-1))
		inner.MTP = true
		p.mtp = p.kindIndex(inner)
	}
	p.count()
	return p
}

// kindIndex finds or adds a kind.
func (p *Program) kindIndex(k Kind) int {
	for i, have := range p.kinds {
		if have == k {
			return i
		}
	}
	p.kinds = append(p.kinds, k)
	return len(p.kinds) - 1
}

// count fills the tables that depend on the kinds.
func (p *Program) count() {
	p.totals = make([]int, len(p.kinds))
	p.prefix = make([][]int, len(p.kinds))
	p.weights = make([][]*Operation, len(p.kinds))
	for k := range p.kinds {
		p.weights[k] = p.Layer(k, &Shape{Split: whole, ContextParallel: 1, MicroBatch: 1}, &Assembly{}).weighted()
		p.prefix[k] = make([]int, len(p.layers)+1)
		for i, of := range p.layers {
			p.prefix[k][i+1] = p.prefix[k][i]
			if of == k {
				p.prefix[k][i+1]++
				p.totals[k]++
			}
		}
	}
}

// window is the number of keys that decoder layer i attends to; 0: all.
// With a pattern p, every p-th layer (p-1, 2p-1, …) attends to everything.
func window(m *job.Model, i int) int {
	w := m.Attention.SlidingWindow
	if w.Size == 0 || w.Size >= m.SequenceLength || w.Pattern > 0 && i%w.Pattern == w.Pattern-1 {
		return 0
	}
	return w.Size
}

// Kinds lists the distinct kinds of layer in order of first appearance, the
// MTP kind last.
func (p *Program) Kinds() []Kind { return p.kinds }

// KindOf is the index into [Program.Kinds] of decoder layer i (from 0).
func (p *Program) KindOf(i int) int { return p.layers[i] }

// MTPKind is the index of the kind of the MTP layers, -1 when there are none.
func (p *Program) MTPKind() int { return p.mtp }

// Count is the number of layers of a kind among decoder layers [first, end).
func (p *Program) Count(kind, first, end int) int {
	return p.prefix[kind][end] - p.prefix[kind][first]
}
