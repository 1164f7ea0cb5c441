package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// builder lists the operations of one layer.
type builder struct {
	p    *Program
	m    *job.Model
	kind Kind
	s    *Shape
	a    *Assembly

	tokens int64 // of a micro-batch on a context rank
	local  int64 // of the residual stream: cut by sequence parallelism
	stream int64 // bytes of the residual stream on this rank

	layer   Layer
	tensors []Tensor // of the layer
	memory  []Weight // the same
	nothing Tensor   // what is left where tensors are left out
	block   *Block   // the last of the layer
	outputs int      // of linear operations so far
}

// Layer lists the operations of one layer of a kind on one rank.
func (p *Program) Layer(kind int, s *Shape, a *Assembly) Layer {
	b := p.builder(s, a)
	b.kind = p.kinds[kind]
	if !a.KernelsOnly {
		b.tensors, b.memory = make([]Tensor, 0, 32), make([]Weight, 0, 16)
	}
	for _, block := range b.kind.Blocks {
		b.list(block)
	}
	if b.kind.MTP {
		b.mtpEnd()
	}
	return b.layer
}

// CutExperts is a layer of a kind with its experts cut otherwise, on the memory of
// an earlier such list of the same kind, which is gone then. What has no experts
// is shared with the given layer, as the same on every rank. It lists kernels only.
func (p *Program) CutExperts(layer, old Layer, kind int, s *Shape, a *Assembly) Layer {
	b := p.builder(s, a)
	b.kind, b.layer = p.kinds[kind], old[:0]
	for i, block := range b.kind.Blocks {
		if block == job.ExpertsBlock {
			b.list(block)
			continue
		}
		b.layer, b.block = append(b.layer, layer[i]), nil
	}
	if b.kind.MTP && b.block != nil {
		b.mtpEnd()
	}
	return b.layer
}

// builder begins a list.
func (p *Program) builder(s *Shape, a *Assembly) *builder {
	b := &builder{p: p, m: p.Model, s: s, a: a, tokens: int64(p.Tokens(s)), layer: make(Layer, 0, 2)}
	b.local = b.tokens
	if s.SequenceParallel {
		b.local /= int64(s.TensorParallel)
	}
	b.stream = b.local * int64(b.m.HiddenSize) * a.Types.Compute
	return b
}

// list adds a block.
func (b *builder) list(block rune) {
	switch block {
	case job.AttentionBlock:
		if b.m.Attention.MLA != nil {
			b.latentAttention()
		} else {
			b.attention()
		}
	case job.MambaBlock:
		b.mamba()
	case job.DeltaNetBlock:
		b.deltaNet()
	case job.MLPBlock:
		b.mlp()
	case job.ExpertsBlock:
		b.experts()
	default:
		panic("program: no block " + string(block))
	}
}

// open begins a block. A multi-token-prediction layer has its projection at the
// start of its first.
func (b *builder) open(name string) {
	var memory []Operation
	if n := len(b.layer); n < cap(b.layer) { // of an earlier list, if any
		memory = b.layer[:n+1][n].Operations[:0]
	}
	if memory == nil {
		memory = make([]Operation, 0, 12)
	}
	b.layer = append(b.layer, Block{Name: name, Operations: memory, Stream: b.stream})
	b.block = &b.layer[len(b.layer)-1]
	if b.gathers() {
		b.block.Gathered = b.tokens * int64(b.m.HiddenSize) * b.a.Types.Compute
	}
	if b.kind.MTP && len(b.layer) == 1 {
		b.mtp()
	}
}

// close ends a block: what comes out of it is scattered and added to the
// residual stream.
func (b *builder) close(c Component) {
	if b.s.SequenceParallel && b.a.Recompute.KeepsReduceScatter {
		b.add(Operation{Name: b.name(".scatter"), Kind: Scatter, Component: c, Tensors: []Tensor{{Bytes: b.stream, Operator: true}}})
	}
	width := b.shard() * float64(b.m.HiddenSize)
	if b.m.Norm.Post {
		name := b.name("_post_norm")
		b.add(Operation{Name: name, Kind: Norm, Component: Norms, Modules: plan.ModuleNorm, Elements: width,
			Weights: b.normWeights(name, b.m.HiddenSize), Tensors: []Tensor{{Bytes: b.stream, Autograd: true}}})
	}
	if b.m.Dropout > 0 {
		b.add(Operation{Name: b.name(".dropout"), Kind: Dropout, Component: Norms, Elements: width})
	}
	b.add(Operation{Name: b.name(".residual"), Kind: Residual, Component: Norms, Elements: width})
}

// add adds an operation. The gradients of its weights stay where those of a block
// are reduced together.
func (b *builder) add(o Operation) {
	if b.a.KeepsWeightGradients {
		for i := range o.Weights {
			o.WeightGradient += o.Weights[i].Local(b.s.Split) * b.a.Types.Compute
		}
	}
	b.block.Operations = append(b.block.Operations, o)
}

// name is that of an operation which every block has; no kernel is told by it.
func (b *builder) name(suffix string) string {
	if b.a.KernelsOnly {
		return ""
	}
	return b.block.Name + suffix
}

// shard is the mean number of tokens of the residual stream on a rank.
func (b *builder) shard() float64 {
	if b.s.SequenceParallel {
		return float64(b.tokens) / float64(b.s.TensorParallel)
	}
	return float64(b.tokens)
}

// leave adds a tensor to an operation. All of a layer lie in one piece of memory
// as long as an operation's are added one after the other.
func (b *builder) leave(o *Operation, t Tensor) *Tensor {
	if b.a.KernelsOnly {
		return &b.nothing
	}
	n, last := len(o.Tensors), len(b.tensors)-1
	if n > 0 && &o.Tensors[n-1] != &b.tensors[last] {
		o.Tensors = append(o.Tensors, t)
		return &o.Tensors[n]
	}
	b.tensors = append(b.tensors, t)
	o.Tensors = b.tensors[len(b.tensors)-n-1 : len(b.tensors) : len(b.tensors)]
	return &o.Tensors[n]
}

// weights are those of an operation, in one piece of memory with the layer's
// others.
func (b *builder) weights(of ...Weight) []Weight {
	if b.a.KernelsOnly {
		return nil
	}
	b.memory = append(b.memory, of...)
	return b.memory[len(b.memory)-len(of) : len(b.memory) : len(b.memory)]
}

// keep adds a tensor that the backward pass needs.
func (b *builder) keep(o *Operation, dropped plan.Modules, bytes int64) {
	b.leave(o, Tensor{Bytes: bytes, Dropped: dropped, Autograd: true})
}

// keepResident adds a tensor that the backward pass needs and that cannot be
// offloaded.
func (b *builder) keepResident(o *Operation, dropped plan.Modules, bytes int64) {
	b.leave(o, Tensor{Bytes: bytes, Dropped: dropped, Autograd: true, Resident: true})
}

// keepBoth adds a tensor that the backward pass needs and that recompute by
// operators keeps.
func (b *builder) keepBoth(o *Operation, dropped plan.Modules, bytes int64) {
	b.leave(o, Tensor{Bytes: bytes, Dropped: dropped, Autograd: true, Operator: true})
}

// write adds the output of a linear operation, which the backward pass does not
// need. Recompute by operators keeps that of every second linear operation of a
// layer all the same.
func (b *builder) write(o *Operation, bytes int64) *Tensor {
	b.outputs++
	return b.leave(o, Tensor{Bytes: bytes, Operator: b.outputs%2 == 1})
}

// writeKept adds the output of a linear operation that the backward pass needs.
func (b *builder) writeKept(o *Operation, dropped plan.Modules, bytes int64) *Tensor {
	t := b.write(o, bytes)
	t.Autograd, t.Dropped = true, dropped
	return t
}

// asInput is the size of a tensor of n elements kept as the input of a linear
// operation: quantised under low precision.
func (b *builder) asInput(n int64) int64 { return int64(float64(n) * b.a.Types.Input) }

// gathers reports whether linear operations keep their input gathered over the
// tensor group instead of gathering it again for the weight gradient.
func (b *builder) gathers() bool {
	return b.a.Layers.KeepsGathered && b.s.SequenceParallel && b.s.TensorParallel > 1
}

// residence says which of a norm's tensors offload of activations leaves on the
// GPU.
type residence struct{ input, output bool }

// norm adds a norm over the residual stream: its input (the stream itself, which
// is the layer's input in the first block) and its output, the input of the next
// linear operations.
func (b *builder) norm(dropped plan.Modules, on residence) {
	n, element := b.local*int64(b.m.HiddenSize), b.a.Types.Compute
	name := b.name("_norm")
	o := Operation{Name: name, Kind: Norm, Component: Norms, Modules: plan.ModuleNorm,
		Elements: b.shard() * float64(b.m.HiddenSize), Weights: b.normWeights(name, b.m.HiddenSize)}
	switch {
	case len(b.layer) == 1:
		b.keepBoth(&o, 0, n*element)
	case !b.a.Layers.FP32Norm:
		b.leave(&o, Tensor{Bytes: n * element, Autograd: true, Resident: on.input})
	}
	if b.a.Layers.FP32Norm { // the stream in fp32 and the normalised stream before its weight
		b.keep(&o, dropped, n*(4+element))
	}
	output := n
	if b.gathers() {
		output = b.tokens * int64(b.m.HiddenSize)
	}
	b.leave(&o, Tensor{Bytes: b.asInput(output), Dropped: dropped, Autograd: true, Resident: on.output})
	statistics := int64(4)
	if b.m.Norm.Kind == "layernorm" {
		statistics = 8
	}
	b.keep(&o, dropped, b.local*statistics)
	if b.m.Dropout > 0 {
		b.keep(&o, 0, n) // one byte of mask per element
	}
	b.add(o)
}
