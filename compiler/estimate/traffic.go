package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// memoryBound times norms, residual additions, rope, activations, dropout and
// the MoE permutation by the bytes that their kernels move: where one kernel
// does it, one read per input, one write per output, 2 bytes per element; else
// what data/layers.json says (docs/time.md).
func (b *builder) memoryBound(k program.Kind) {
	m, moves := b.e.model, b.e.traffic(b.x)
	h := float64(m.HiddenSize)
	blocks := float64(len(k.Blocks))
	norms := blocks
	if m.PostNorms {
		norms += blocks
	}
	if k.MTP {
		norms += 3
	}
	normForward, normBackward := b.moves(&moves.norm, b.shard*h*norms)
	forward, backward := b.moves(&moves.residual, b.shard*h*blocks/2)
	b.norms = normForward
	forward += normForward
	backward += normBackward + b.gradientCopies(k)
	if m.Dropout > 0 {
		forward += b.bytes(compute.Elementwise, b.shard*h*blocks)
		backward += b.bytes(compute.Elementwise, b.shard*h*blocks)
	}
	if k.Has(job.AttentionBlock) {
		b.rope(moves, &forward, &backward)
		backward += b.joined()
	}
	rows, width := b.tokens, float64(m.FFNHiddenSize)/float64(b.l.TensorParallel)
	if k.MoE {
		rows, width = float64(b.e.routed(b.l)), float64(m.MoE.ExpertFFNHiddenSize)/float64(b.l.ExpertTensorParallel)
		permute := b.bytes(compute.Permute, rows*float64(b.e.arch.ExpertWidth())*b.permutes())
		bias := b.expertBias(rows, width)
		route := b.bytes(compute.Elementwise, b.shard*float64(m.MoE.Experts)*16)
		forward += route
		backward += route
		forward += permute + bias
		backward += permute + bias
		b.moe += permute + bias
		if s := program.SharedWidth(m.MoE); s > 0 {
			b.activated(b.tokens, float64(s)/float64(b.l.TensorParallel), false, &forward, &backward)
		}
	}
	before := forward
	if k.MoE || k.Has(job.MLPBlock) {
		b.activated(rows, width, k.MoE && b.e.runtime.Experts.FusedMLP, &forward, &backward)
	}
	b.activation = forward - before
	b.mlp += b.activation
	b.moe += b.activation
	b.fwd[lineMemoryBound] += forward
	b.bwd[lineMemoryBound] += backward
}

// activated adds the activation function of an MLP of the given local width.
// Fused into the products' kernel it writes what the backward needs, and reads
// it again, and nothing else.
func (b *builder) activated(rows, width float64, fused bool, forward, backward *units.Seconds) {
	moves := b.e.traffic(b.x).activation
	if fused {
		moves.Forward, moves.Backward = 2*b.activationInputs(), 2*b.activationInputs()
	}
	there, back := b.moves(&moves, rows*width)
	*forward += there
	*backward += back
}

// moves times an operation over so many elements.
func (b *builder) moves(m *moved, elements float64) (forward, backward units.Seconds) {
	there, back := m.kernels()
	return b.bytes(there, elements*m.Forward), b.bytes(back, elements*m.Backward)
}

// activationInputs is how many inputs the activation function has.
func (b *builder) activationInputs() float64 {
	if b.e.model.GatedActivation() {
		return 2
	}
	return 1
}

// permutes is the traffic of bringing rows to their experts, per element and
// way: sorted by rank before they travel and by expert after. Kernels that send
// tokens sort once, on arrival.
func (b *builder) permutes() float64 {
	if plan.SendsTokens(b.x.MoEDispatcher) {
		return b.e.permuteBytes / 2
	}
	return b.e.permuteBytes
}

// expertBias is what adding biases to the outputs of both expert products
// moves, and their gradients: they are added expert by expert and the results
// joined, 2 bytes read and written each time.
func (b *builder) expertBias(rows, width float64) units.Seconds {
	if !b.e.model.MLPBias || b.e.runtime.Experts.FusedMLP {
		return 0
	}
	width *= b.activationInputs()
	return b.bytes(compute.Elementwise, rows*(width+float64(b.e.model.HiddenSize))*8)
}

// rope adds rotating q and k, and their norms where they have some.
func (b *builder) rope(moves *layerTraffic, forward, backward *units.Seconds) {
	m := b.e.model
	tp := float64(b.l.TensorParallel)
	width := float64(m.AttentionHeads*m.HeadDim)/tp + max(float64(m.KVHeads)/tp, 1)*float64(m.HeadDim)
	if m.MLA != nil { // q and k are assembled from their parts: every element moves
		width = 2 * float64(m.AttentionHeads*(m.MLA.QKNopeHeadDim+m.MLA.QKRopeHeadDim)) / tp
	}
	if m.PositionEmbedding.Kind == "rope" {
		there, back := b.moves(&moves.rope, b.tokens*width)
		*forward += there
		*backward += back
	}
	if m.QKNorm {
		there, back := b.moves(&moves.norm, b.tokens*width)
		*forward += there
		*backward += back
	}
}

// joined is what joining the gradients of q, k and v moves, which came from one
// projection.
func (b *builder) joined() units.Seconds {
	m := b.e.model
	if b.e.runtime.Layers.SeparateProjections || m.MLA != nil {
		return 0
	}
	tp := float64(b.l.TensorParallel)
	width := float64(m.AttentionHeads*m.HeadDim)/tp + 2*max(float64(m.KVHeads)/tp, 1)*float64(m.HeadDim)
	return b.bytes(compute.Elementwise, b.tokens*width*4)
}

// gradientCopies is what an engine without fused accumulation moves per
// micro-batch to bring weight gradients to where they are reduced: a read in
// 16 bits and a write in the reduction type.
func (b *builder) gradientCopies(k program.Kind) units.Seconds {
	if b.e.runtime.Layers.AccumulatesWeightGradients {
		return 0
	}
	for i, have := range b.e.arch.Kinds() {
		if have == k {
			n := b.e.arch.Elements(i, program.SplitOf(b.l)).Sum()
			return b.bytes(compute.Elementwise, float64(n)*(2+bytesOf(b.x.GradientDType)))
		}
	}
	return 0
}

// bytes times a memory-bound kernel as the framework fuses it.
func (b *builder) bytes(kind compute.Traffic, n float64) units.Seconds {
	return b.e.device.Traffic(kind, units.Bytes(math.Round(n*b.e.fusion(b.x))))
}
