package program

import "github.com/ndc-dev/ndc/compiler/plan"

// mtp adds what a multi-token-prediction layer has before its inner layer: the
// norms of embedding and hidden state, and the projection that reads both.
func (b *builder) mtp() {
	m := b.m
	n := b.local * int64(m.HiddenSize)
	norms := Operation{Name: "mtp.norms", Kind: Norm, Component: Norms, Modules: plan.ModuleNorm, Elements: 2 * b.shard() * float64(m.HiddenSize),
		Weights: append(b.normWeights("mtp.embedding_norm", m.HiddenSize), b.normWeights("mtp.hidden_norm", m.HiddenSize)...)}
	b.keep(&norms, 0, 2*n*b.a.Types.Compute)
	b.keep(&norms, 0, b.asInput(2*n))
	b.add(norms)
	b.add(Operation{Name: "mtp.projection", Component: MTP,
		Weights: b.weights(matrix("mtp.projection", TensorSharded, m.HiddenSize, 2*m.HiddenSize)),
		GEMM:    GEMM{M: int(b.tokens), N: m.HiddenSize / b.s.TensorParallel, K: 2 * m.HiddenSize, Groups: 1, Count: 1},
		Before:  TensorGather, Gathered: 2 * m.HiddenSize, After: WidthGather})
}

// mtpEnd adds the norm after the inner layer.
func (b *builder) mtpEnd() {
	b.add(Operation{Name: "mtp.final_norm", Kind: Norm, Component: Norms, Modules: plan.ModuleNorm, Elements: b.shard() * float64(b.m.HiddenSize),
		Weights: b.normWeights("mtp.final_norm", b.m.HiddenSize)})
}
