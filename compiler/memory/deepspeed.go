package memory

// deepspeed is ZeRO 0 to 3 with its buckets.
func (m *Model) deepspeed(e *evaluation, h *holding, s *state) {
	n, zero := e.shards, e.l.ZeroStage
	elements := h.elements.Sum()
	compute := float64(m.element)
	b := &m.target.Buckets
	cut := func(from int) sharding {
		if zero >= from {
			return n
		}
		return unsharded
	}
	gradient := float64(m.reducedBytes(e))
	m.optimizer(e, h, cut(1), s)
	gradients := cut(2).of(gradient, h.elements)
	if zero <= 1 && gradient > compute {
		gradients += unsharded.of(compute, h.elements) // the model's own gradients beside the accumulated ones
	}
	if e.x.OffloadOptimizer && zero >= 2 {
		s.host += gradients
	} else {
		s.resident[lineGradients] += gradients
	}
	if zero == 3 {
		m.zero3(e, h, s)
		return
	}
	s.resident[lineParameters] += unsharded.of(compute, h.elements)
	m.reduceBuckets(e, elements, s)
	switch {
	case zero > 0:
		s.step.step += n.of(4, h.elements)
		s.step.gathered += min(b.AllGather, elements) * m.element
	case m.element == 2 && gradient == 2: // gradients in fp32, one by one and flat (runtime/fp16/fused_optimizer.py)
		s.step.step += 8 * elements
	}
}

// reducedBytes is the type that DeepSpeed reduces a gradient in.
func (m *Model) reducedBytes(e *evaluation) int64 {
	if e.x.GradientDType == "fp32" {
		return 4
	}
	return m.element
}

// reduceBuckets adds what ZeRO-1 and 2 reduce with: a bucket that fills, a
// second one where reductions run behind the backward pass, the slices of one
// side by side, and those in the type that they are reduced in. Without ZeRO,
// and for bf16 parameters with fp32 gradients under ZeRO-1
// (runtime/bf16_optimizer.py), gradients are copied together after it, into a
// block that finds no room among what activations have left free.
func (m *Model) reduceBuckets(e *evaluation, elements int64, s *state) {
	bucket, staged, reduced := min(m.target.Buckets.Reduce, elements), m.element, m.reducedBytes(e)
	if e.l.ZeroStage == 1 {
		staged = reduced
	}
	if e.l.ZeroStage == 0 || e.l.ZeroStage == 1 && m.job.Training.Precision == "bf16" && reduced == 4 && !e.x.OffloadOptimizer {
		s.backward.reduce += min(m.overhead.unbucketed, elements) * reduced
		return
	}
	buckets := &s.resident[lineReduce]
	if e.l.ZeroStage == 1 { // with the last micro-batch only
		buckets = &s.backward.reduce
	}
	*buckets += bucket * staged
	if e.x.OverlapGradientReduce {
		*buckets += bucket * staged
	}
	s.backward.reduce += bucket * staged
	if reduced > staged {
		s.backward.reduce += bucket * reduced
	}
}

// largeGradients adds the gradients of the output head, while it is reduced, and
// of the embedding: those larger than a bucket are copied as a whole into the
// type that they are reduced in. Chunks of the loss add up that of the head; a
// tied one waits for the embedding's.
func (m *Model) largeGradients(e *evaluation, s *state) {
	word := e.terms.word * m.element
	if e.l.ZeroStage < 2 { // they stay, and are counted among the gradients
		if e.x.LossChunks > 1 {
			s.head.reduce += word
		}
		return
	}
	s.embedding.reduce += m.copied(e, e.terms.embedding)
	if m.arch.Model.TiedEmbeddings {
		for _, y := range [...]*transient{&s.head, &s.backward, &s.later, &s.embedding} {
			y.reduce += word
		}
		return
	}
	more := m.copied(e, e.terms.word)
	if e.x.LossChunks > 1 {
		s.loss.reduce += word
		more = max(more, word)
	}
	s.head.reduce += word + more
}

// copied is the copy of a gradient that no bucket holds, in the type that it is
// reduced in.
func (m *Model) copied(e *evaluation, elements int64) int64 {
	if r := m.reducedBytes(e); r > m.element && elements > m.target.Buckets.Reduce {
		return elements * r
	}
	return 0
}

// zero3 adds what is particular to stage 3: sharded parameters with live and
// prefetched ones, and the secondary copy of hpZ.
func (m *Model) zero3(e *evaluation, h *holding, s *state) {
	n, b, elements := e.shards, &m.target.Buckets, h.elements.Sum()
	shard := n.of(float64(m.element), h.elements)
	if e.x.OffloadParameters {
		s.host += shard
	} else {
		s.resident[lineParameters] += shard
	}
	if e.x.ZeroHPZPartition > 1 {
		s.resident[lineGathered] += unsharded.of(float64(m.element), h.elements) / int64(e.x.ZeroHPZPartition)
	}
	live := min(elements, max(b.MaxLiveParameters, h.block)+b.Prefetch) * m.element
	s.loss.gathered += live
	s.backward.gathered += live
	bucket := min(b.Reduce, elements) * m.reducedBytes(e) // and its shards side by side
	s.resident[lineReduce] += bucket
	s.backward.reduce += bucket + h.block*m.element
	s.step.step += min(4*b.SubGroup, n.of(4, h.elements))
}
