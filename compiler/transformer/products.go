package transformer

import "github.com/ndc-dev/ndc/compiler/plan"

// Product is a matrix product of the forward pass on one rank,
// C[M,N] = A[M,K] · B[K,N], where M counts tokens and B is the weight. The
// backward pass has two of the same volume: [M,K] = [M,N]·[N,K] for the input
// gradient and [K,N] = [K,M]·[M,N] for the weight gradient.
type Product struct {
	Name    string
	M, N, K int
	// Groups is the number of experts that share one grouped kernel; M is their
	// sum. 1: a plain product.
	Groups int
	Count  int // how often per layer
	// Gathered says that with sequence parallelism A is gathered over the tensor
	// group before the product; Scattered that C is reduce-scattered (or
	// all-reduced without sequence parallelism) after it.
	Gathered, Scattered bool
}

// FLOPs of the forward product, all counts.
func (p *Product) FLOPs() float64 {
	return 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Count)
}

// CoreAttention is softmax(q·kᵀ)·v of one layer on one rank, per micro-batch.
type CoreAttention struct {
	Batch         int // sequences
	Queries, Keys int // tokens; Keys > Queries when context parallelism cuts the sequence
	Heads         int // query heads
	KVHeads       int
	QKDim, VDim   int // per head
	Window        int // 0: causal over all keys
}

// FLOPs of the forward pass, the causal half counted once:
// 2·Batch·Heads·(QKDim+VDim)·Σ keys per query.
func (c *CoreAttention) FLOPs() float64 {
	return 2 * float64(c.Batch*c.Heads*(c.QKDim+c.VDim)) * float64(c.Queries) * meanKeys(c.Keys, c.Window)
}

// meanKeys is the mean number of keys per query under a causal mask, s/2, and
// with a window w, w − w²/(2s).
func meanKeys(sequence, window int) float64 {
	s := float64(sequence)
	if window == 0 || window >= sequence {
		return s / 2
	}
	w := float64(window)
	return w - w*w/(2*s)
}

// Tokens is the number of tokens of a micro-batch on one context-parallel
// rank: micro_batch_size · sequence / context_parallel.
func (a *Architecture) Tokens(l *plan.Layout) int {
	return l.MicroBatchSize * a.Model.SequenceLength / l.ContextParallel
}

// RoutedTokens is the mean number of rows that the experts of one rank
// multiply per micro-batch: tokens · top_k · etp / tp when the tokens are cut
// over the tensor group before the router (sequence parallelism), times the
// capacity factor when tokens are dropped.
func (a *Architecture) RoutedTokens(l *plan.Layout) int {
	e := a.Model.MoE
	n := float64(a.Tokens(l)*e.TopK*l.ExpertTensorParallel) / float64(l.TensorParallel)
	if e.TokenDrop && e.CapacityFactor > 0 {
		n *= e.CapacityFactor
	}
	return int(n)
}

// SplitOf is the split of a layout.
func SplitOf(l *plan.Layout) Split {
	return Split{TensorParallel: l.TensorParallel, ExpertParallel: l.ExpertParallel, ExpertTensorParallel: l.ExpertTensorParallel}
}

// Attention is the core attention of a layer of a kind on one rank. Context
// parallelism leaves every rank its share of the queries against all keys,
// balanced over the causal triangle.
func (a *Architecture) Attention(kind int, l *plan.Layout) CoreAttention {
	m := a.Model
	c := CoreAttention{
		Batch:   l.MicroBatchSize,
		Queries: m.SequenceLength / l.ContextParallel,
		Keys:    m.SequenceLength,
		Heads:   m.AttentionHeads / l.TensorParallel,
		KVHeads: max(m.KVHeads/l.TensorParallel, 1),
		QKDim:   m.HeadDim, VDim: m.HeadDim,
		Window: a.kinds[kind].Window,
	}
	if m.MLA != nil {
		c.KVHeads = c.Heads
		c.QKDim, c.VDim = m.MLA.QKNopeHeadDim+m.MLA.QKRopeHeadDim, m.MLA.VHeadDim
	}
	return c
}

// Products appends the forward matrix products of one layer of a kind on one
// rank for one micro-batch, in order of execution, to buf. Core attention is
// [Architecture.Attention]; the output head is [Architecture.HeadProduct].
func (a *Architecture) Products(kind int, l *plan.Layout, buf []Product) []Product {
	m, k, t := a.Model, a.kinds[kind], a.Tokens(l)
	if k.MTP {
		buf = append(buf, Product{Name: "mtp.projection", M: t, N: m.HiddenSize / l.TensorParallel, K: 2 * m.HiddenSize, Groups: 1, Count: 1})
	}
	if m.MLA != nil {
		buf = a.latentProducts(l, buf)
	} else {
		buf = a.attentionProducts(l, buf)
	}
	if !k.MoE {
		return a.mlpProducts("mlp", t, m.FFNHiddenSize/l.TensorParallel, buf)
	}
	return a.expertProducts(l, buf)
}

// HeadProduct is the product of the output head for one micro-batch with the
// part of the vocabulary that a rank holds.
func (a *Architecture) HeadProduct(vocabulary int, l *plan.Layout) Product {
	return Product{Name: "head", M: a.Tokens(l), N: vocabulary, K: a.Model.HiddenSize, Groups: 1, Count: 1, Gathered: true}
}

func (a *Architecture) attentionProducts(l *plan.Layout, buf []Product) []Product {
	m, t := a.Model, a.Tokens(l)
	q := m.AttentionHeads / l.TensorParallel * m.HeadDim
	kv := m.KVHeads * m.HeadDim / l.TensorParallel
	if a.Separate {
		buf = append(buf,
			Product{Name: "attention.q", M: t, N: q, K: m.HiddenSize, Groups: 1, Count: 1, Gathered: true},
			Product{Name: "attention.kv", M: t, N: kv, K: m.HiddenSize, Groups: 1, Count: 2})
	} else {
		buf = append(buf, Product{Name: "attention.qkv", M: t, N: q + 2*kv, K: m.HiddenSize, Groups: 1, Count: 1, Gathered: true})
	}
	return append(buf, Product{Name: "attention.output", M: t, N: m.HiddenSize, K: q, Groups: 1, Count: 1, Scattered: true})
}

// latentProducts are those of multi-head latent attention: the down
// projections run on the sequence shard, the up projections on all tokens.
func (a *Architecture) latentProducts(l *plan.Layout, buf []Product) []Product {
	m, x, t := a.Model, a.Model.MLA, a.Tokens(l)
	heads, down := m.AttentionHeads/l.TensorParallel, t
	if l.SequenceParallel {
		down = t / l.TensorParallel
	}
	q := heads * (x.QKNopeHeadDim + x.QKRopeHeadDim)
	if x.QLoraRank > 0 {
		buf = append(buf,
			Product{Name: "attention.q_down", M: down, N: x.QLoraRank, K: m.HiddenSize, Groups: 1, Count: 1},
			Product{Name: "attention.q_up", M: t, N: q, K: x.QLoraRank, Groups: 1, Count: 1, Gathered: true})
	} else {
		buf = append(buf, Product{Name: "attention.q", M: t, N: q, K: m.HiddenSize, Groups: 1, Count: 1, Gathered: true})
	}
	return append(buf,
		Product{Name: "attention.kv_down", M: down, N: x.KVLoraRank + x.QKRopeHeadDim, K: m.HiddenSize, Groups: 1, Count: 1},
		Product{Name: "attention.kv_up", M: t, N: heads * (x.QKNopeHeadDim + x.VHeadDim), K: x.KVLoraRank, Groups: 1, Count: 1, Gathered: true},
		Product{Name: "attention.output", M: t, N: m.HiddenSize, K: heads * x.VHeadDim, Groups: 1, Count: 1, Scattered: true})
}

// mlpProducts are those of an MLP of the given local width.
func (a *Architecture) mlpProducts(name string, tokens, width int, buf []Product) []Product {
	h, up := a.Model.HiddenSize, upProjections(a.Model)
	in := Product{Name: name + ".in", M: tokens, N: width * up, K: h, Groups: 1, Count: 1, Gathered: true}
	if a.Separate && up == 2 {
		in.N, in.Count = width, 2
	}
	return append(buf, in, Product{Name: name + ".out", M: tokens, N: h, K: width, Groups: 1, Count: 1, Scattered: true})
}

// expertProducts are the router, the grouped experts and the shared expert.
func (a *Architecture) expertProducts(l *plan.Layout, buf []Product) []Product {
	e, h := a.Model.MoE, a.Model.HiddenSize
	tokens := a.Tokens(l)
	if l.SequenceParallel {
		tokens /= l.TensorParallel
	}
	buf = append(buf, Product{Name: "router", M: tokens, N: e.Experts, K: h, Groups: 1, Count: 1})
	if w := SharedWidth(e); w > 0 {
		buf = a.mlpProducts("shared_experts", a.Tokens(l), w/l.TensorParallel, buf)
	}
	rows, groups := a.RoutedTokens(l), e.Experts/l.ExpertParallel
	width := e.ExpertFFNHiddenSize / l.ExpertTensorParallel
	in := Product{Name: "experts.in", M: rows, N: width * upProjections(a.Model), K: h, Groups: groups, Count: 1}
	if a.Separate && upProjections(a.Model) == 2 {
		in.N, in.Count = width, 2
	}
	return append(buf, in, Product{Name: "experts.out", M: rows, N: h, K: width, Groups: groups, Count: 1})
}
