package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
)

// half says in which half of a layer a tensor is used: the backward pass frees
// the MLP's before it reaches the attention.
type half uint8

const (
	inAttention half = iota
	inMLP
)

// saved is one tensor that the backward pass of a layer needs.
type saved struct {
	line  line
	half  half
	drop  modules // selective recompute of any of these makes it go
	bytes int64
	// eager tensors are kept by plain autograd; op tensors by torchtitan's
	// operator policy, which lets go of those that are not eager, too, once it
	// has made the layer again.
	eager, op bool
	// device tensors stay on the GPU when activations are offloaded.
	device bool
}

// layer holds the terms of one kind of layer on one rank for one micro-batch.
type layer struct {
	whole ledger // kept without recompute
	kept  ledger // kept under the layout's recompute
	stay  ledger // the part of kept that offload of activations leaves on the device
	input int64  // the layer's input, which full recompute keeps
	// recomputed and backward are what the running layer adds to kept at its
	// worst moment; wholeBackward what it adds to whole.
	recomputed, backward, wholeBackward int64

	keptSum, wholeSum, staySum int64

	elements  program.Elements
	matrices  program.Elements // weights of the linear layers that low precision and matrix optimizers treat
	gradients int64            // bytes of one scratch gradient per distinct shape, MLP half
	attention int64            // the same, attention half
}

// builder collects what one layer keeps.
type builder struct {
	arch  *program.Program
	kind  program.Kind
	style style
	shape shape

	element int64   // bytes of the compute type
	input   float64 // bytes of an element saved as the input of a linear layer
	low     bool    // linear layers run in a low precision
	align   int64   // rows of an expert are padded to a multiple of this

	tokens  int64 // of a micro-batch on a context rank
	local   int64 // of the residual stream: cut by sequence parallelism
	dropout bool
	target  *target.Target

	rotary   int64 // dimensions of a head that position embedding rotates
	list     []saved
	products int   // of matrices so far
	extraMLP int64 // what the backward of each half adds at its worst
	extraAtt int64
	// remade is what recompute of a layer makes at its end beyond what is kept,
	// when incoming bytes of gradients wait for it.
	remade, incoming int64
}

func (b *builder) save(ln line, h half, drop modules, bytes int64) {
	b.list = append(b.list, saved{line: ln, half: h, drop: drop, bytes: bytes, eager: true})
}

// saveHere adds a tensor that cannot be offloaded.
func (b *builder) saveHere(ln line, h half, drop modules, bytes int64) {
	b.save(ln, h, drop, bytes)
	b.list[len(b.list)-1].device = true
}

// saveBoth adds a tensor that autograd and the operator policy both keep.
func (b *builder) saveBoth(ln line, h half, drop modules, bytes int64) {
	b.list = append(b.list, saved{line: ln, half: h, drop: drop, bytes: bytes, eager: true, op: true})
}

// saveOp adds a tensor that only the operator policy keeps.
func (b *builder) saveOp(ln line, h half, bytes int64) {
	b.list = append(b.list, saved{line: ln, half: h, bytes: bytes, op: true})
}

// product adds the output of a product of matrices that the backward pass
// needs. The operator policy keeps that of every second product of a layer.
func (b *builder) product(ln line, h half, drop modules, bytes int64) {
	b.unneeded(ln, h, bytes)
	t := &b.list[len(b.list)-1]
	t.eager, t.drop, t.device = true, drop, h == inMLP
}

// unneeded adds the output of a product that the backward pass does not need:
// the policy keeps it all the same.
func (b *builder) unneeded(ln line, h half, bytes int64) {
	b.products++
	b.list = append(b.list, saved{line: ln, half: h, bytes: bytes, op: b.products%2 == 1})
}

// asInput is the size of a tensor of n elements kept as the input of a linear
// layer: quantised under low precision.
func (b *builder) asInput(n int64) int64 { return int64(float64(n) * b.input) }

// gathers reports whether linear layers keep their input gathered over the
// tensor group instead of gathering it again for the weight gradient.
func (b *builder) gathers() bool {
	return b.style.keepsGathered && b.shape.sequence && b.shape.tp > 1
}

// norm adds a norm over the residual stream: its input (the stream itself) and
// its output, the input of the next linear layers.
func (b *builder) norm(h half, drop modules) {
	hidden := int64(b.arch.Model.HiddenSize)
	n := b.local * hidden
	switch {
	case h == inAttention:
		b.saveBoth(lineNorms, h, 0, n*b.element) // the input of the layer
	case !b.style.fp32Norm && b.kind.MoE:
		b.save(lineNorms, h, 0, n*b.element)
	case !b.style.fp32Norm: // part of the first linear layer of the MLP
		b.saveHere(lineNorms, h, 0, n*b.element)
	}
	if b.style.fp32Norm { // the stream in fp32 and the normalised stream before its weight
		b.save(lineNorms, h, drop, n*(4+b.element))
	}
	output := n
	if b.gathers() {
		output = b.tokens * hidden
	}
	if h == inAttention {
		b.save(lineNorms, h, drop, b.asInput(output))
	} else {
		b.saveHere(lineNorms, h, drop, b.asInput(output))
	}
	statistics := int64(4)
	if b.arch.Model.Normalization == "layernorm" {
		statistics = 8
	}
	b.save(lineNorms, h, drop, b.local*statistics)
	if b.dropout {
		b.save(lineNorms, h, 0, n) // one byte of mask per element
	}
}

// build lists the tensors of a layer and settles its worst backward moments.
func (b *builder) build() {
	m := b.arch.Model
	if b.kind.MTP {
		b.mtp()
	}
	separateNorm := modules(0)
	if m.MLA != nil {
		separateNorm = moduleNorm
	}
	b.norm(inAttention, separateNorm)
	if m.MLA != nil {
		b.latentAttention()
	} else {
		b.attention()
	}
	if b.kind.MoE {
		b.norm(inMLP, moduleNorm)
		b.moe()
	} else {
		b.norm(inMLP, moduleMLP)
		b.mlp(lineMLP, moduleMLP, int64(m.FFNHiddenSize), 1)
	}
	if b.shape.sequence && b.target.KeepsReduceScatter {
		n := b.local * int64(m.HiddenSize) * b.element
		b.saveOp(lineAttention, inAttention, n)
		b.saveOp(lineMLP, inMLP, n)
	}
	if m.PostNorms {
		n := b.local * int64(m.HiddenSize) * b.element
		b.save(lineNorms, inAttention, 0, n)
		b.save(lineNorms, inMLP, 0, n)
	}
}

// mtp adds the embedding and hidden norms and the concatenation that the MTP
// projection reads.
func (b *builder) mtp() {
	n := b.local * int64(b.arch.Model.HiddenSize)
	b.save(lineNorms, inAttention, 0, 2*n*b.element+b.asInput(2*n))
}

// finish turns the list into terms.
func (b *builder) finish() layer {
	l := layer{input: b.local * int64(b.arch.Model.HiddenSize) * b.element}
	var dropped, kept [2]int64
	var wholeMLP, released int64
	for i := range b.list {
		t := &b.list[i]
		if t.eager {
			l.whole[t.line] += t.bytes
			if t.half == inMLP {
				wholeMLP += t.bytes
			}
		}
		switch keep := b.keeps(t); {
		case keep:
			l.kept[t.line] += t.bytes
			if t.device {
				l.stay[t.line] += t.bytes
			}
			kept[t.half] += t.bytes
			if !t.eager {
				released += t.bytes
			}
		case t.eager:
			dropped[t.half] += t.bytes
		}
	}
	l.wholeBackward = max(b.extraMLP, b.extraAtt-wholeMLP)
	if b.shape.recompute == plan.RecomputeFull {
		l.kept = ledger{lineInputs: l.input}
		l.recomputed = dropped[inAttention] + dropped[inMLP] - l.input
		l.backward = max(b.extraMLP, b.extraAtt-dropped[inMLP])
		l.remake(l.recomputed+b.remade, b.incoming)
	} else {
		l.recomputed, l.backward = dropped[inMLP], b.extraMLP
		if att := dropped[inAttention] + b.extraAtt - kept[inMLP]; att > dropped[inMLP]+b.extraMLP {
			l.recomputed, l.backward = dropped[inAttention], b.extraAtt-kept[inMLP]
		}
		if b.shape.modules&moduleOp != 0 { // the whole block is one checkpoint
			l.recomputed, l.backward = max(dropped[inAttention]+dropped[inMLP]-released, 0), max(b.extraMLP, 0)
			l.remake(dropped[inAttention]+dropped[inMLP]+b.remade, b.incoming)
		}
	}
	if l.backward < 0 { // tensors freed by then count against the recomputed ones
		l.recomputed, l.backward = max(l.recomputed+l.backward, 0), 0
	}
	l.wholeBackward = max(l.wholeBackward, 0)
	l.keptSum, l.wholeSum, l.staySum = l.kept.sum(), l.whole.sum(), l.stay.sum()
	return l
}

// remake makes the end of the recompute the worst moment if it is.
func (l *layer) remake(recomputed, incoming int64) {
	if recomputed+incoming > l.recomputed+l.backward {
		l.recomputed, l.backward = recomputed, incoming
	}
}

// keeps reports whether a tensor survives until the backward pass.
func (b *builder) keeps(t *saved) bool {
	switch {
	case b.shape.recompute == plan.RecomputeFull:
		return false
	case b.shape.modules&moduleOp != 0:
		return t.op
	}
	return t.eager && t.drop&b.shape.modules == 0
}
