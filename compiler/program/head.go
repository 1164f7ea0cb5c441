package program

// Embedding is the number of elements of the input embedding on one rank, for
// a vocabulary as built (padded): vocabulary × hidden over the tensor group,
// and the learned position table, which every tensor rank holds in full.
func (p *Program) Embedding(vocabulary, tensorParallel int) int64 {
	return p.WordEmbedding(vocabulary, tensorParallel) + p.positionTable()
}

// WordEmbedding is vocabulary × hidden over the tensor group: the input
// embedding without positions, and equally the output head.
func (p *Program) WordEmbedding(vocabulary, tensorParallel int) int64 {
	return ceil(int64(vocabulary), tensorParallel) * int64(p.Model.HiddenSize)
}

// positionTable is the number of elements of learned positions; 0 for others.
func (p *Program) positionTable() int64 {
	if p.Model.PositionEmbedding.Kind != "learned" {
		return 0
	}
	n := p.Model.MaxPositions
	if n == 0 {
		n = p.Model.SequenceLength
	}
	return int64(n) * int64(p.Model.HiddenSize)
}

// FinalNorm is the number of elements of the norm before the output head.
func (p *Program) FinalNorm() int64 {
	if p.Model.Norm.Kind == "layernorm" {
		return 2 * int64(p.Model.HiddenSize)
	}
	return int64(p.Model.HiddenSize)
}

// headFLOPs is the forward model FLOPs per token of the output head.
func (p *Program) headFLOPs() float64 {
	return 2 * float64(p.Model.HiddenSize) * float64(p.Model.VocabSize)
}

// Start lists what runs before the first layer: the lookup of the input embedding.
// Its parameters are counted by [Program.Embedding].
func (p *Program) Start(s *Shape, a *Assembly) Block {
	b := p.builder(s, a)
	b.open("embedding")
	n := b.tokens * int64(b.m.HiddenSize)
	o := Operation{Name: "embedding", Kind: Lookup, Component: Ends, Elements: float64(n), Backward: b.stream, After: TensorReduce}
	if s.SequenceParallel { // the gradient of the output is gathered
		o.Backward = n * a.Types.Compute
	}
	if b.m.Dropout > 0 {
		b.keep(&o, 0, b.local*int64(b.m.HiddenSize)) // one byte of mask per element
	}
	b.add(o)
	return *b.block
}

// End lists what runs after the last layer, for a vocabulary as built: the final
// norm, the output head and the loss. Tensors are those of all heads: each
// multi-token-prediction layer has one beside the model's own. Its parameters are
// counted by [Program.FinalNorm] and [Program.WordEmbedding].
func (p *Program) End(s *Shape, a *Assembly, vocabulary int) Block {
	b := p.builder(s, a)
	b.open("head")
	b.block.Stream = 0 // it has no gradient yet
	b.finalNorm()
	l := b.logits(vocabulary)
	b.output(vocabulary, &l)
	b.crossEntropy(&l)
	return *b.block
}

// heads is the number of output heads.
func (b *builder) heads() int64 { return int64(1 + b.m.MTP.Layers) }

// finalNorm adds the norm before the output head: its input and its output, the
// head's input.
func (b *builder) finalNorm() {
	o := Operation{Name: "final_norm", Kind: Norm, Component: Norms, Elements: b.shard() * float64(b.m.HiddenSize)}
	output := b.stream
	if b.gathers() {
		output = b.block.Gathered
	}
	b.keep(&o, 0, b.heads()*(b.stream+output))
	if b.a.Layers.FP32Norm {
		b.keep(&o, 0, b.heads()*4*b.local*int64(b.m.HiddenSize))
	}
	b.add(o)
}

// logits is what the loss of a micro-batch works on, on one rank.
type logits struct {
	count     int64 // of one head
	base      int64 // bytes of them in the compute type
	alive     int64 // bytes of what of one head is alive at once while its loss runs backward
	waiting   int64 // bytes of what a loss keeps of one head until then
	collected int64 // bytes of the gradient of the hidden states, collected over the chunks of a loss
}

// all is what is alive of n heads, whose losses run backward one after the other.
func (l *logits) all(n int64) int64 { return l.alive + (n-1)*l.waiting }

// logits counts them.
func (b *builder) logits(vocabulary int) logits {
	parts := b.a.TensorParallel.LogitParts(b.s.TensorParallel)
	l := logits{count: b.tokens * int64(vocabulary/parts)}
	l.base = l.count * b.a.Types.Compute
	fp32 := b.a.Loss.FP32
	if parts > 1 {
		fp32 += b.a.Loss.ParallelFP32
	}
	each := int64(4*fp32) + int64(b.a.Loss.Base)*b.a.Types.Compute
	if b.m.FinalSoftcap > 0 {
		each += b.a.Types.Compute
	}
	l.alive, l.waiting = each*l.count, l.base
	if fp32 > 0 {
		l.waiting = 4 * l.count // probabilities
	}
	if b.a.LossChunks > 1 {
		// in fp32, and copied unless the chunks are one piece of a single sequence
		l.collected = 4 * b.tokens * int64(b.m.HiddenSize)
		if b.s.MicroBatch > 1 {
			l.collected += b.whole()
		}
	}
	return l
}

// whole is the size of the stream of all ranks of a tensor group.
func (b *builder) whole() int64 { return b.tokens * int64(b.m.HiddenSize) * b.a.Types.Compute }

// output adds the output head. Its backward pass makes the gradient of the hidden
// states, which may have to be gathered and scattered, from that of the logits;
// those of a chunk at a time with a loss in chunks.
func (b *builder) output(vocabulary int, l *logits) {
	rows := vocabulary / b.a.TensorParallel.HeadParts(b.s.TensorParallel)
	o := Operation{Name: "output", Component: Ends, Before: TensorGather, Gathered: b.m.HiddenSize, GEMM: GEMM{M: int(b.tokens), N: rows, K: b.m.HiddenSize, Groups: 1, Count: 1}}
	if n := int64(b.a.LossChunks); n > 1 {
		o.Backward = l.base/n*b.heads() + l.collected + b.whole()/n
		b.add(o)
		return
	}
	o.Tensors = []Tensor{{Bytes: l.base}}
	o.Backward = l.all(b.heads()) + b.stream
	if b.a.Loss.FreesFirst {
		o.Backward = l.base*b.heads() + b.stream
	}
	if b.s.SequenceParallel && b.s.TensorParallel > 1 && !b.a.Layers.KeepsGathered {
		o.Backward += 2 * b.whole() // the gathered input, and its gradient before it is scattered
	}
	b.add(o)
}

// crossEntropy adds the loss. Unfused it keeps log-probabilities in fp32; in
// chunks, which have run backward, the gradient of the hidden states.
func (b *builder) crossEntropy(l *logits) {
	o := Operation{Name: "loss", Kind: CrossEntropy, Component: Ends, Elements: float64(l.count)}
	if n := int64(b.a.LossChunks); n > 1 {
		o.Backward = (l.alive + l.base) / n * b.heads()
		b.keep(&o, 0, l.collected)
	} else {
		o.Backward = l.all(b.heads())
		if !b.a.FusedLoss {
			b.keep(&o, 0, 4*l.count)
			o.Backward -= 4 * l.count
		}
	}
	b.add(o)
}
