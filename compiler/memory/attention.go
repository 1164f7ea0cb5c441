package memory

// heads is what the attention of one rank works on, in elements per token.
type heads struct {
	count    int64 // query heads
	q, kv, v int64 // query, key, value
	out      int64 // output
}

// attention adds multi-head and grouped-query attention: query, key and value
// after position embedding, the output (which is the output projection's
// input) and what the softmax keeps.
func (b *builder) attention() {
	m := b.arch.Model
	h := heads{count: int64(m.AttentionHeads / b.shape.tp)}
	h.q = h.count * int64(m.HeadDim)
	h.kv = int64(max(m.KVHeads/b.shape.tp, 1) * m.HeadDim)
	h.v, h.out = h.kv, h.q
	b.projections(h)
	b.save(lineAttention, inAttention, 0, b.tokens*(h.q+h.kv)*b.element) // after position embedding
	b.core(h)
	b.unneeded(lineAttention, inAttention, b.tokens*int64(m.HiddenSize)*b.element)
}

// projections adds what comes out of the projections of query, key and value:
// norms need the first two, attention itself the value, which a fused
// projection hands over as a copy.
func (b *builder) projections(h heads) {
	m := b.arch.Model
	kv := int64(m.KVHeads * m.HeadDim / b.shape.tp)
	if b.target.FusedQKV {
		b.unneeded(lineAttention, inAttention, b.tokens*(h.q+2*kv)*b.element)
		if m.QKNorm {
			b.save(lineAttention, inAttention, 0, b.tokens*(h.q+h.kv)*b.element)
		}
		b.save(lineAttention, inAttention, 0, b.tokens*h.v*b.element)
		return
	}
	add := b.unneeded
	if m.QKNorm {
		add = func(ln line, part half, bytes int64) { b.product(ln, part, 0, bytes) }
	}
	add(lineAttention, inAttention, b.tokens*h.q*b.element)
	add(lineAttention, inAttention, b.tokens*h.kv*b.element)
	b.product(lineAttention, inAttention, 0, b.tokens*h.v*b.element)
}

// latentAttention adds multi-head latent attention: the compressed latents
// before and after their norms, then query, key and value per head.
func (b *builder) latentAttention() {
	m, x := b.arch.Model, b.arch.Model.MLA
	h := heads{count: int64(m.AttentionHeads / b.shape.tp)}
	h.q = h.count * int64(x.QKNopeHeadDim+x.QKRopeHeadDim)
	h.kv, h.v = h.q, h.count*int64(x.VHeadDim)
	h.out = h.v
	tokens := b.local // the latents are the same on every rank of a tensor group
	if b.gathers() {
		tokens = b.tokens
	}
	if n := tokens * int64(x.QLoraRank); n > 0 {
		b.product(lineAttention, inAttention, 0, n*b.element)
		b.save(lineAttention, inAttention, moduleLatentUp, b.asInput(n))
	}
	b.unneeded(lineAttention, inAttention, b.tokens*h.q*b.element)
	n := tokens * int64(x.KVLoraRank)
	b.product(lineAttention, inAttention, 0, n*b.element+tokens*int64(x.QKRopeHeadDim)*b.element)
	b.save(lineAttention, inAttention, moduleLatentUp, b.asInput(n))
	up := b.tokens * (h.count*int64(x.QKNopeHeadDim) + h.v) * b.element
	if b.style.viewsValue {
		b.product(lineAttention, inAttention, moduleLatentUp, up)
	} else {
		b.unneeded(lineAttention, inAttention, up)
		b.save(lineAttention, inAttention, moduleLatentUp, b.tokens*h.v*b.element)
	}
	b.save(lineAttention, inAttention, moduleLatentUp, b.tokens*(h.q+h.kv)*b.element)
	b.core(h)
	b.unneeded(lineAttention, inAttention, b.tokens*int64(b.arch.Model.HiddenSize)*b.element)
}

// core adds what softmax(q·kᵀ)·v keeps and what its backward pass needs.
// Flash and fused kernels keep the output and one fp32 statistic per query and
// head; unfused attention keeps the probabilities, and with dropout its mask
// and the dropped probabilities.
func (b *builder) core(h heads) {
	m := b.arch.Model
	pairs := b.tokens * h.count * int64(m.SequenceLength)
	extra := b.tokens * (h.out + h.q + h.kv + h.v) * b.element
	if b.shape.unfused {
		bytes := pairs * b.element
		if b.dropout {
			bytes += pairs * (1 + b.element)
		}
		b.save(lineAttention, inAttention, moduleCoreAttention, bytes)
		extra += 2 * pairs * b.element
	} else {
		b.saveBoth(lineAttention, inAttention, moduleCoreAttention, 4*b.tokens*h.count)
		extra += 4 * b.tokens * h.q // the query gradient is accumulated in fp32
	}
	b.saveBoth(lineAttention, inAttention, 0, b.tokens*h.out*b.element)
	if b.low {
		b.save(lineAttention, inAttention, 0, b.asInput(b.tokens*h.out))
	}
	b.save(lineAttention, inAttention, 0, b.tokens*b.rotary*int64(b.target.LayerRotary))
	extra += b.context(h)
	b.extraAtt = extra + b.local*int64(m.HiddenSize)*b.element
}

// context adds what context parallelism keeps, and returns what it needs while
// the layer runs: a ring passes keys and values and their gradients on and
// keeps one more copy of the query; all-gather holds them for the whole
// sequence; all-to-all keeps the output on both sides of the exchange.
func (b *builder) context(h heads) int64 {
	if b.shape.cp == 1 {
		return 0
	}
	keys := b.tokens * (h.kv + h.v) * b.element
	switch b.shape.context {
	case "ulysses":
		b.save(lineAttention, inAttention, moduleCoreAttention, b.tokens*h.out*b.element)
		return 0
	case "all_gather":
		if b.style.keepsGathered {
			b.save(lineAttention, inAttention, moduleCoreAttention, int64(b.shape.cp-1)*keys)
		}
		return 2 * int64(b.shape.cp) * keys
	}
	if b.style.copiesContext {
		b.save(lineAttention, inAttention, moduleCoreAttention, b.tokens*h.q*b.element)
	}
	return 2 * keys
}
