package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// latentAttention lists multi-head latent attention: the compressed latents
// before and after their norms, then query, key and value per head. The down
// projections run on the sequence shard and, like the norms of the latents, are
// replicated over the tensor group; the up projections gather the latents, run on
// all tokens and are cut by heads. An engine that keeps what it gathers gathers the
// stream instead, and projects all of it on every rank.
func (b *builder) latentAttention() {
	m, x, tp := b.m, b.m.Attention.MLA, b.s.TensorParallel
	b.open("attention")
	b.norm(plan.ModuleNorm, residence{})
	h := headWidths{count: int64(m.Attention.Heads / tp)}
	h.q = h.count * int64(x.QKNopeHeadDim+x.QKRopeHeadDim)
	h.kv, h.v = h.q, h.count*int64(x.VHeadDim)
	h.out = h.v
	b.latentQuery(h)
	b.latentKeyValue(h)
	if b.a.Layers.SeparateProjections {
		b.sumGradients("attention.sum", Attention, float64(b.latents()))
	}
	// q and k are assembled from their parts: every element moves
	b.rotate(plan.ModuleLatentUp, h, 2*float64(m.Attention.Heads*(x.QKNopeHeadDim+x.QKRopeHeadDim))/float64(tp))
	b.core(h)
	b.projectOutput(m.Attention.Heads * x.VHeadDim)
	b.close(Attention)
}

// latents is the number of tokens whose latents a rank keeps: they are the same
// on every rank of a tensor group.
func (b *builder) latents() int64 {
	if b.gathers() {
		return b.tokens
	}
	return b.local
}

// latentQuery adds the projections of the query, through a latent if it has a
// rank.
func (b *builder) latentQuery(h headWidths) {
	m, x, element := b.m, b.m.Attention.MLA, b.a.Types.Compute
	width := m.Attention.Heads * (x.QKNopeHeadDim + x.QKRopeHeadDim)
	up := Operation{Name: "attention.q", Component: Attention,
		Weights: b.weights(matrix("attention.q.weight", TensorSharded, width, m.HiddenSize)),
		GEMM:    GEMM{M: int(b.tokens), N: int(h.q), K: m.HiddenSize, Groups: 1, Count: 1},
		Before:  TensorGather, Gathered: m.HiddenSize}
	if x.QLoraRank > 0 {
		if !b.a.Layers.KeepsGathered {
			up.Gathered = x.QLoraRank
		}
		b.down("attention.q", x.QLoraRank, 0)
		up.Name, up.Modules, up.GEMM.K = "attention.q_up", plan.ModuleLatentUp, x.QLoraRank
		up.Weights = b.weights(matrix("attention.q_up.weight", TensorSharded, width, x.QLoraRank))
	}
	b.write(&up, b.tokens*h.q*element)
	b.add(up)
}

// latentKeyValue adds the projections of key and value.
func (b *builder) latentKeyValue(h headWidths) {
	m, x, element := b.m, b.m.Attention.MLA, b.a.Types.Compute
	b.down("attention.kv", x.KVLoraRank, x.QKRopeHeadDim)
	o := Operation{Name: "attention.kv_up", Component: Attention, Modules: plan.ModuleLatentUp,
		Weights: b.weights(matrix("attention.kv_up.weight", TensorSharded, m.Attention.Heads*(x.QKNopeHeadDim+x.VHeadDim), x.KVLoraRank)),
		GEMM:    GEMM{M: int(b.tokens), N: int(h.count) * (x.QKNopeHeadDim + x.VHeadDim), K: x.KVLoraRank, Groups: 1, Count: 1},
		Before:  TensorGather}
	if !b.a.Layers.KeepsGathered {
		o.Gathered = x.KVLoraRank + x.QKRopeHeadDim
	}
	bytes := b.tokens * (h.count*int64(x.QKNopeHeadDim) + h.v) * element
	if b.a.Attention.ViewsValue {
		b.writeKept(&o, plan.ModuleLatentUp, bytes)
	} else {
		b.write(&o, bytes)
		b.keep(&o, plan.ModuleLatentUp, b.tokens*h.v*element)
	}
	b.add(o)
}

// down adds the projection to a latent of a rank, with the rotated part of the
// key beside it, and the norm of the latent, the input of the up projection.
func (b *builder) down(name string, rank, rotated int) {
	n := b.latents() * int64(rank)
	o := Operation{Name: name + "_down", Component: Attention,
		Weights: append(b.weights(matrix(name+"_down.weight", Replicated, rank+rotated, b.m.HiddenSize)), b.normWeights(name+"_norm", rank)...),
		GEMM:    GEMM{M: int(b.latents()), N: rank + rotated, K: b.m.HiddenSize, Groups: 1, Count: 1}}
	b.writeKept(&o, 0, (n+b.latents()*int64(rotated))*b.a.Types.Compute)
	b.keep(&o, plan.ModuleLatentUp, b.asInput(n))
	b.add(o)
}

// RotaryDimensions is the number of dimensions of a head that position embedding
// rotates.
func RotaryDimensions(m *job.Model) int64 {
	switch {
	case m.PositionEmbedding.Kind != "rope":
		return 0
	case m.Attention.MLA != nil:
		return int64(m.Attention.MLA.QKRopeHeadDim)
	}
	return int64(m.Attention.HeadDim)
}
