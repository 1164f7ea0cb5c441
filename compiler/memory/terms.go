package memory

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
)

// maxKinds bounds the distinct kinds of layer of a model: in a pattern both
// mixers, attention with and without a window, MLP and experts, and MTP; one
// without a pattern has fewer.
const maxKinds = 7

// terms is what a shape settles once for every layout that shares it.
type terms struct {
	layers     [maxKinds]layer
	kinds      int
	embedding  int64 // elements of the input embedding on a rank, positions included
	word       int64 // elements of the output head
	finalNorm  int64
	start      program.Operation // the lookup of the input embedding
	head       head
	workspaces int64
	dispatcher float64 // bytes that what exchanges the rows of experts holds
	rotary     int64   // a layer's own table of rotary embeddings
}

// evaluation is one layout being evaluated.
type evaluation struct {
	l        *plan.Layout
	x        *plan.Execution
	sharding *runtime.Sharding
	terms    *terms
	shards   shards

	communicators float64 // bytes, buffers of dispatchers included
	enough        int64   // allocated bytes of a rank of which nobody asks for more
}

// evaluate looks up or makes the terms of a layout.
func (m *Model) evaluate(l *plan.Layout, x *plan.Execution) evaluation {
	m.lineUp(l, x)
	t := m.termsOf(m.shapeOf(l, x))
	return evaluation{l: l, x: x, sharding: m.runtime.ShardingOf(x), terms: t, shards: shardsOf(l), communicators: m.overhead.communicators(l) + t.dispatcher, enough: math.MaxInt64}
}

// mostShapes bounds what a long search remembers to some tens of megabytes.
const mostShapes = 1 << 13

// termsOf looks up or makes the terms of a shape.
func (m *Model) termsOf(s shape) *terms {
	t := m.cache[s]
	if t == nil {
		t = m.makeTerms(s)
		if len(m.cache) >= mostShapes {
			clear(m.cache)
		}
		m.cache[s] = t
	}
	return t
}

// makeTerms builds every kind of layer for a shape.
func (m *Model) makeTerms(s shape) *terms {
	vocabulary := m.target.Vocabulary(m.arch.Model, s.TensorParallel)
	t := &terms{kinds: len(m.arch.Kinds())}
	a := m.assembly(&s)
	for k := range m.arch.Kinds() {
		t.layers[k] = m.layer(&s, m.arch.Layer(k, &s.Shape, &a))
		m.weights(&t.layers[k], k, &s)
	}
	start, end := m.arch.Start(&s.Shape, &a), m.arch.End(&s.Shape, &a, vocabulary)
	t.start, t.head = start.Operations[0], m.head(&s, &end)
	t.embedding = m.arch.Embedding(vocabulary, m.runtime.TensorParallel.EmbeddingParts(s.TensorParallel))
	t.word = m.arch.WordEmbedding(vocabulary, m.runtime.TensorParallel.HeadParts(s.TensorParallel))
	t.finalNorm = m.arch.FinalNorm()
	t.workspaces, t.dispatcher = m.workspaces(&s), m.dispatcherBuffers(&s)
	t.rotary = int64(m.arch.Model.SequenceLength*m.runtime.Layers.RotaryBytes) * program.RotaryDimensions(m.arch.Model)
	return t
}

// weights counts the parameters of a kind of layer on a rank.
func (m *Model) weights(l *layer, kind int, s *shape) {
	split := s.Split
	l.elements = m.arch.Elements(kind, split)
	m.arch.Weights(kind, func(o *program.Operation, w *program.Weight) {
		if !w.Matrix() || o.Component == program.Router {
			return
		}
		n := w.Local(split)
		if w.Expert() {
			l.matrices.Expert += n
			n /= int64(max(w.Copies/s.ExpertParallel, 1)) // one expert's
		} else {
			l.matrices.Dense += n
		}
		l.weight = max(l.weight, n)
		if o.Component == program.Attention || o.Component == program.Mixer {
			l.attention += n * m.element
		} else {
			l.gradients += n * m.element
		}
	})
}

// workspaces are the library workspaces and the table of rotary embeddings that
// all layers share.
func (m *Model) workspaces(s *shape) int64 {
	n := int64(overheads["workspace"])
	if m.job.Cluster.GPU.Capability() >= 9 {
		n = int64(overheads["workspace_hopper"])
	}
	if m.arch.Model.MoE != nil && m.runtime.Experts.GroupedStreams {
		n += n * int64(overheads["grouped_gemm_streams"])
	}
	if s.userBuffers && m.runtime.TensorParallel.UserBuffers {
		tokens := int64(m.arch.Tokens(&s.Shape))
		n += int64(overheads["user_buffers"]) * tokens * int64(m.arch.Model.HiddenSize) * m.element
	}
	if m.runtime.Layers.RotaryBytes == 0 {
		n += 4 * int64(m.arch.Model.SequenceLength) * program.RotaryDimensions(m.arch.Model)
	}
	return n
}
