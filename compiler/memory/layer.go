package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
)

// layer holds the terms of one kind of layer on one rank for one micro-batch.
type layer struct {
	whole ledger // kept without recompute
	kept  ledger // kept under the layout's recompute
	stay  ledger // the part of kept that offload of activations leaves on the device
	input int64  // the layer's input, which full recompute keeps
	// recomputed and backward are what the running layer adds to kept at its
	// worst; wholeBackward what it adds to whole.
	recomputed, backward, wholeBackward int64

	keptSum, wholeSum, staySum int64

	// owed is what gradients of weights need of a backward pass that has made
	// those of inputs: the gradients of the outputs of all that has weights.
	owed int64

	// static is what a CUDA graph of the layer has for every micro-batch in flight,
	// graphGradients what the gradients of its outputs take, once. Of experts in
	// buffers of a fixed size they are the pages, and what is read back of them.
	static, graphGradients int64
	// paged are the tensors that wait in pages, each of them in a buffer of its own:
	// what experts read, gate and up, and what comes of the activation.
	paged [3]int64

	elements  program.Elements
	matrices  program.Elements // weights of the linear layers that low precision and matrix optimizers treat
	gradients int64            // bytes of one scratch gradient per distinct shape, of the MLP
	attention int64            // the same, of the attention
	weight    int64            // elements of the largest weight
}

// blockBytes is what the tensors of one block take.
type blockBytes struct {
	whole    int64 // needed by the backward pass
	kept     int64 // kept under the layout's recompute
	dropped  int64 // needed, and made again
	released int64 // kept, not needed, and let go once the layer has been made again
}

// layer folds the operations of a layer into its terms.
func (m *Model) layer(s *shape, p program.Layer) layer {
	l := layer{input: m.stream(s)}
	l.static, l.graphGradients = m.captured(s, p)
	blocks, x := make([]blockBytes, len(p)), plan.Execution{CUDAGraphs: s.graphs}
	for i := range p {
		graphed := x.Captures(p[i].GraphModule())
		for k := range p[i].Operations {
			o := &p[i].Operations[k]
			l.keep(s, o, &blocks[i], graphed && o.Component != program.Experts)
			if o.Kind <= program.GroupedLinear || len(o.Weights) > 0 {
				l.owed += outputs(o) * m.element
			}
		}
	}
	if paged := l.paged[0] + l.paged[1] + l.paged[2]; paged > 0 {
		fixed := &m.runtime.Experts.Static
		l.static, l.graphGradients = times(paged, fixed.Pages/fixed.Capacity), paged
	}
	made, _ := p[len(p)-1].Remade(false)
	l.wholeBackward = max(worst(p, blocks, func(b *blockBytes) int64 { return b.whole }), made)
	if s.recompute == plan.RecomputeFull {
		l.kept = ledger{lineInputs: l.input}
	}
	l.run(s, p, blocks)
	if l.backward < 0 { // tensors freed by then count against the recomputed ones
		l.recomputed, l.backward = max(l.recomputed+l.backward, 0), 0
	}
	l.keptSum, l.wholeSum, l.staySum = l.kept.sum(), l.whole.sum(), l.stay.sum()
	return l
}

// outputs is the number of elements of an operation's output.
func outputs(o *program.Operation) int64 {
	if g := &o.GEMM; g.M > 0 {
		return int64(g.M) * int64(g.N) * int64(g.Count)
	}
	return int64(o.Elements)
}

// stream is the size of the residual stream of a micro-batch on a rank.
func (m *Model) stream(s *shape) int64 {
	return m.local(s) * int64(m.arch.Model.HiddenSize) * m.element
}

// local is the number of tokens of the residual stream on a rank.
func (m *Model) local(s *shape) int64 {
	n := int64(m.arch.Tokens(&s.Shape))
	if s.SequenceParallel {
		n /= int64(s.TensorParallel)
	}
	return n
}

// keep adds the tensors of an operation of a block. What waits in pages stays there
// whatever recompute does, and on the GPU what a CUDA graph keeps.
func (l *layer) keep(s *shape, o *program.Operation, b *blockBytes, graphed bool) {
	at := lineOf(o.Component)
	for i := range o.Tensors {
		t := &o.Tensors[i]
		if t.Paged {
			l.page(t.Bytes)
			continue
		}
		if t.Autograd {
			l.whole[at] += t.Bytes
			b.whole += t.Bytes
		}
		switch {
		case s.keeps(t):
			l.kept[at] += t.Bytes
			b.kept += t.Bytes
			if t.Resident || graphed {
				l.stay[at] += t.Bytes
			}
			if !t.Autograd {
				b.released += t.Bytes
			}
		case t.Autograd:
			b.dropped += t.Bytes
		}
	}
}

// page adds a tensor that waits in pages.
func (l *layer) page(bytes int64) {
	for i := range l.paged {
		if l.paged[i] == 0 {
			l.paged[i] = bytes
			return
		}
	}
	panic("memory: more tensors in pages than experts keep")
}

// lineOf is the line of the ledger that a component's tensors stand in.
func lineOf(c program.Component) line {
	switch c {
	case program.Attention:
		return lineAttention
	case program.Mixer:
		return lineMixer
	case program.MLP:
		return lineMLP
	case program.Router, program.Experts, program.SharedExperts:
		return lineExperts
	}
	return lineNorms
}

// keeps reports whether a tensor survives until the backward pass.
func (s *shape) keeps(t *program.Tensor) bool {
	switch {
	case s.recompute == plan.RecomputeFull:
		return false
	case s.modules&plan.ModuleOperators != 0:
		return t.Operator
	}
	return t.Autograd && t.Dropped&s.modules == 0
}

// worst is the most that the backward pass of any block adds to a layer: what
// the blocks behind it had is free by then.
func worst(p program.Layer, blocks []blockBytes, had func(b *blockBytes) int64) int64 {
	last := len(p) - 1
	most, freed := p[last].Backward(), int64(0)
	for i := last - 1; i >= 0; i-- {
		freed += had(&blocks[i+1])
		most = max(most, p[i].Backward()-freed)
	}
	return most
}

// run settles what the running layer adds at its worst under the layout's
// recompute.
func (l *layer) run(s *shape, p program.Layer, blocks []blockBytes) {
	last := &p[len(p)-1]
	var dropped, released int64
	for i := range blocks {
		dropped += blocks[i].dropped
		released += blocks[i].released
	}
	switch {
	case s.recompute == plan.RecomputeFull:
		l.recomputed = dropped - l.input
		l.backward = worst(p, blocks, func(b *blockBytes) int64 { return b.dropped })
		remade, incoming := last.Remade(false)
		l.remake(l.recomputed+remade, incoming)
	case s.modules&plan.ModuleOperators != 0: // the whole layer is one checkpoint
		l.recomputed, l.backward = max(dropped-released, 0), last.Backward()
		remade, incoming := last.Remade(true)
		l.remake(dropped+remade, incoming)
	default:
		l.perBlock(s, p, blocks)
	}
}

// perBlock settles the same where every block makes again what it needs when
// its own backward pass begins. The end of the forward pass may be worse.
func (l *layer) perBlock(s *shape, p program.Layer, blocks []blockBytes) {
	var freed int64
	for i := len(p) - 1; i >= 0; i-- {
		recomputed, backward := blocks[i].dropped, p[i].Backward()-freed
		if i == len(p)-1 || recomputed+backward > l.recomputed+l.backward {
			l.recomputed, l.backward = recomputed, backward
		}
		if made, incoming := p[i].Remade(false); made > 0 && s.modules&plan.ModuleMoE != 0 { // runs all of the block again
			l.remake(recomputed+made, incoming-freed)
		}
		freed += blocks[i].kept
	}
	made, _ := p[len(p)-1].Remade(false)
	l.remake(0, made)
}

// remake makes the end of the recompute the worst if it is.
func (l *layer) remake(recomputed, incoming int64) {
	if recomputed+incoming > l.recomputed+l.backward {
		l.recomputed, l.backward = recomputed, incoming
	}
}
