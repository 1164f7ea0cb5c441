package program

import "github.com/ndc-dev/ndc/compiler/plan"

// headWidths is what the attention of one rank works on, in elements per token.
type headWidths struct {
	count    int64 // query heads
	q, kv, v int64 // query, key, value
	out      int64 // output
}

// attention lists multi-head and grouped-query attention: the projections of
// query, key and value, position embedding, the core and the output projection.
func (b *builder) attention() {
	m, tp := b.m, b.s.TensorParallel
	b.open("attention")
	b.norm(0, residence{})
	h := headWidths{count: int64(m.Attention.Heads / tp)}
	h.q = h.count * int64(m.Attention.HeadDim)
	h.kv = int64(max(m.Attention.KVHeads/tp, 1) * m.Attention.HeadDim)
	h.v, h.out = h.kv, h.q
	b.projectQKV(h)
	if b.a.Layers.SeparateQKV() {
		b.sumGradients("attention.sum", Attention, 2*float64(b.tokens))
	}
	b.rotate(0, h, b.width())
	if !b.a.Layers.SeparateQKV() {
		joined := float64(m.Attention.Heads*m.Attention.HeadDim)/float64(tp) + 2*max(float64(m.Attention.KVHeads)/float64(tp), 1)*float64(m.Attention.HeadDim)
		b.add(Operation{Name: "attention.join", Kind: JoinGradients, Component: Attention, Elements: float64(b.tokens) * joined})
	}
	b.core(h)
	if m.Attention.Gate {
		b.gateOutput(h)
	}
	b.projectOutput(m.Attention.Heads * m.Attention.HeadDim)
	b.close(Attention)
}

// width is the mean width of query and key.
func (b *builder) width() float64 {
	tp := float64(b.s.TensorParallel)
	return float64(b.m.Attention.Heads*b.m.Attention.HeadDim)/tp + max(float64(b.m.Attention.KVHeads)/tp, 1)*float64(b.m.Attention.HeadDim)
}

// projectQKV adds the projections of query, key and value. The weights of key
// and value are cut evenly even over more ranks than there are heads: what comes
// out is gathered and sliced, so that activations repeat heads and parameters do
// not. Norms need the first two outputs, attention itself the value, which a
// fused projection hands over as a copy.
func (b *builder) projectQKV(h headWidths) {
	m, element := b.m, b.a.Types.Compute
	q, kv := m.Attention.Heads/b.s.TensorParallel*m.Attention.HeadDim, m.Attention.KVHeads*m.Attention.HeadDim/b.s.TensorParallel
	weights := b.qkvWeights()
	projected := q
	if m.Attention.Gate {
		projected *= 2
	}
	gemm := GEMM{M: int(b.tokens), N: projected + 2*kv, K: m.HiddenSize, Groups: 1, Count: 1}
	o := Operation{Name: "attention.qkv", Component: Attention, Weights: weights, Before: TensorGather, Gathered: m.HiddenSize, GEMM: gemm}
	if m.Attention.KVHeads < b.s.TensorParallel && !b.a.Layers.SeparateQKV() {
		o.After = HeadGather
	}
	switch {
	case b.a.Layers.FusedQKV:
		b.write(&o, b.tokens*(h.q+2*int64(kv))*element)
		if m.Attention.QKNorm {
			b.keep(&o, 0, b.tokens*(h.q+h.kv)*element)
		}
		b.keep(&o, 0, b.tokens*h.v*element)
	default:
		b.write(&o, b.tokens*h.q*element).Autograd = m.Attention.QKNorm
		b.write(&o, b.tokens*h.kv*element).Autograd = m.Attention.QKNorm
		b.writeKept(&o, 0, b.tokens*h.v*element)
	}
	if b.a.Layers.SeparateQKV() {
		o.Name, o.GEMM.N = "attention.q", projected
		b.add(o)
		o = Operation{Name: "attention.kv", Component: Attention, GEMM: gemm}
		o.GEMM.N, o.GEMM.Count = kv, 2
	}
	b.add(o)
}

// qkvWeights are those of the projections of query, key and value.
func (b *builder) qkvWeights() []Weight {
	m := b.m
	q, kv := m.Attention.Heads*m.Attention.HeadDim, 2*m.Attention.KVHeads*m.Attention.HeadDim
	projected := q
	if m.Attention.Gate {
		projected *= 2
	}
	w := b.weights(matrix("attention.q.weight", TensorSharded, projected, m.HiddenSize), matrix("attention.kv.weight", TensorSharded, kv, m.HiddenSize))
	if m.BiasesQKV() {
		w = append(w, vector("attention.q.bias", TensorSharded, projected), vector("attention.kv.bias", TensorSharded, kv))
	}
	return w
}

// rotate adds norms of query and key where the model has them, and position
// embedding: query and key come out of it for the core. The width is that of the
// elements that move, per token.
func (b *builder) rotate(dropped plan.Modules, h headWidths, width float64) {
	elements := float64(b.tokens) * width
	if b.m.Attention.QKNorm {
		o := Operation{Name: "attention.qk_norm", Kind: HeadNorm, Component: Attention, Elements: elements}
		if b.m.Attention.MLA == nil {
			o.Weights = append(b.normWeights("attention.q_norm", b.m.Attention.HeadDim), b.normWeights("attention.k_norm", b.m.Attention.HeadDim)...)
		}
		b.add(o)
	}
	o := Operation{Name: "attention.rotary", Kind: Rotary, Component: Attention, Elements: elements}
	if b.m.PositionEmbedding.Kind != "rope" {
		o.Elements = 0
	}
	b.keep(&o, dropped, b.tokens*(h.q+h.kv)*b.a.Types.Compute)
	b.add(o)
}

// core adds softmax(q·kᵀ)·v: what it keeps and what its backward pass needs.
// Flash and fused kernels keep the output and one fp32 statistic per query and
// head; unfused attention keeps the probabilities, and with dropout its mask
// and the dropped probabilities.
func (b *builder) core(h headWidths) {
	m, element := b.m, b.a.Types.Compute
	o := Operation{Name: "attention.core", Kind: AttentionCore, Component: Attention, Modules: plan.ModuleCoreAttention, Before: ContextGather,
		Core: b.p.coreAttention(b.kind, b.s)}
	if m.Attention.Sinks && m.Attention.MLA == nil {
		o.Weights = b.weights(vector("attention.sinks", TensorSharded, m.Attention.Heads))
	}
	pairs := b.tokens * h.count * int64(m.SequenceLength)
	extra := b.tokens * (h.out + h.q + h.kv + h.v) * element
	if b.a.UnfusedAttention {
		bytes := pairs * element
		if m.Dropout > 0 {
			bytes += pairs * (1 + element)
		}
		b.keep(&o, plan.ModuleCoreAttention, bytes)
		extra += 2 * pairs * element
	} else {
		b.keepBoth(&o, plan.ModuleCoreAttention, 4*b.tokens*h.count)
		extra += 4 * b.tokens * h.q // the query gradient is accumulated in fp32
	}
	b.keepBoth(&o, 0, b.tokens*h.out*element)
	if b.a.Types.Quantised {
		b.keep(&o, 0, b.asInput(b.tokens*h.out))
	}
	b.keep(&o, 0, b.tokens*RotaryDimensions(m)*int64(b.a.Layers.RotaryBytes))
	o.Backward = extra + b.context(&o, h)
	b.add(o)
}

// gateOutput adds the sigmoid gate on the output of attention: it keeps the gate
// and the product, which the output projection reads.
func (b *builder) gateOutput(h headWidths) {
	o := Operation{Name: "attention.gate", Kind: Gate, Component: Attention, Elements: float64(b.tokens * h.out)}
	b.keep(&o, 0, b.tokens*h.out*b.a.Types.Compute+b.asInput(b.tokens*h.out))
	b.add(o)
}

// context adds what context parallelism keeps, and returns what it needs while
// the layer runs: a ring passes keys and values and their gradients on, and keeps
// the last ones that it received in place of its own; all-gather holds them for
// the whole sequence, and may keep the output of its parts beside the joined one;
// all-to-all keeps the output on both sides of the exchange.
func (b *builder) context(o *Operation, h headWidths) int64 {
	if b.s.ContextParallel == 1 {
		return 0
	}
	element, ranks := b.a.Types.Compute, int64(b.s.ContextParallel)
	keys := b.tokens * (h.kv + h.v) * element
	switch b.a.ContextExchange {
	case "ulysses":
		b.keep(o, plan.ModuleCoreAttention, b.tokens*h.out*element)
		return 0
	case "all_gather":
		if b.a.Layers.KeepsGathered {
			b.keep(o, plan.ModuleCoreAttention, (ranks-1)*keys)
		}
		if b.a.Attention.CopiesOutput {
			b.keep(o, plan.ModuleCoreAttention, b.tokens*h.out*element)
		}
		return 2 * ranks * keys
	}
	return 2 * keys
}

// projectOutput adds the output projection from heads of so many elements over
// all ranks.
func (b *builder) projectOutput(width int) {
	m := b.m
	o := Operation{Name: "attention.output", Component: Attention,
		Weights: b.weights(matrix("attention.output.weight", TensorSharded, m.HiddenSize, width)),
		GEMM:    GEMM{M: int(b.tokens), N: m.HiddenSize, K: m.Attention.Heads / b.s.TensorParallel * (width / m.Attention.Heads), Groups: 1, Count: 1},
		After:   TensorReduce}
	if m.Attention.Bias && m.Attention.MLA == nil {
		o.Weights = append(o.Weights, vector("attention.output.bias", Replicated, m.HiddenSize))
	}
	b.write(&o, b.tokens*int64(m.HiddenSize)*b.a.Types.Compute)
	b.add(o)
}

// CoreAttention is the core attention of a layer of a kind on one rank. Context
// parallelism leaves every rank its share of the queries against all keys,
// balanced over the causal triangle.
func (p *Program) CoreAttention(kind int, s *Shape) CoreAttention {
	return p.coreAttention(p.kinds[kind], s)
}

func (p *Program) coreAttention(k Kind, s *Shape) CoreAttention {
	m := p.Model
	c := CoreAttention{
		Batch:   s.MicroBatch,
		Queries: m.SequenceLength / s.ContextParallel,
		Keys:    m.SequenceLength,
		Heads:   m.Attention.Heads / s.TensorParallel,
		KVHeads: max(m.Attention.KVHeads/s.TensorParallel, 1),
		Window:  k.Window,
	}
	c.QKDim, c.VDim = m.Attention.HeadWidths()
	if m.Attention.MLA != nil {
		c.KVHeads = c.Heads
	}
	return c
}
