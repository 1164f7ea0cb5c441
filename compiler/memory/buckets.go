package memory

// buckets has parameters, gradients and optimizer sharded by zero_stage, gathered
// and reduced through buffers of the runtime's sizes.
func (m *Model) buckets(e *evaluation, h *holding, s *state) {
	n, zero := e.shards, e.l.ZeroStage
	elements := h.elements.Sum()
	compute := float64(m.element)
	b := &m.runtime.Buckets
	gradient := float64(m.reducedBytes(e))
	m.optimizer(e, h, e.cut(e.sharding.Optimizer), s)
	gradients := e.cut(e.sharding.Gradients).of(gradient, h.elements)
	if zero < e.sharding.Gradients && gradient > compute {
		gradients += unsharded.of(compute, h.elements) // the model's own gradients beside the accumulated ones
	}
	if e.x.OffloadOptimizer && zero >= e.sharding.Gradients {
		s.host += gradients
	} else {
		s.resident[lineGradients] += gradients
	}
	if zero >= e.sharding.Parameters {
		m.shardedParameters(e, h, s)
		return
	}
	s.resident[lineParameters] += unsharded.of(compute, h.elements)
	m.reduceBuckets(e, elements, s)
	switch {
	case zero >= e.sharding.Optimizer:
		s.step.step += n.of(float64(m.stepCopies(e)), h.elements)
		s.step.gathered += min(b.AllGather, elements) * m.element
	case m.element == 2 && gradient == 2: // gradients in fp32, one by one and flat
		s.step.step += 8 * elements
	}
}

// stepCopies is the size of what the step makes of each element of a shard, or of a
// sub-group of stage 3: gradients laid flat in their own type, and those in fp32,
// one and the same where they are fp32. In stage 1 those that other ranks update
// have been freed by then, so that laying the rank's own flat takes nothing more.
// An offloaded optimizer has them in host memory, and what stages 1 and 2 bring
// back of it may come in fp32.
func (m *Model) stepCopies(e *evaluation) int64 {
	reduced, zero := m.reducedBytes(e), e.l.ZeroStage
	switch {
	case e.x.OffloadOptimizer:
		if zero < e.sharding.Parameters && m.runtime.Buckets.ReturnsFP32 {
			return 4
		}
		return 0
	case m.accumulates(e):
		return 0
	case zero >= e.sharding.Gradients && reduced < 4:
		return reduced + 4
	}
	return 4
}

// accumulates reports whether the optimizer of ZeRO-1 for bf16 parameters and fp32
// gradients keeps the state (bf16_optimizer.py): its step reads the gradients where
// they were accumulated.
func (m *Model) accumulates(e *evaluation) bool {
	return e.l.ZeroStage == 1 && m.job.Training.Precision == "bf16" && m.reducedBytes(e) == 4 && !e.x.OffloadOptimizer
}

// reducedBytes is the size of an element of the type that buckets reduce in.
func (m *Model) reducedBytes(e *evaluation) int64 {
	if e.x.GradientDType == "fp32" {
		return 4
	}
	return m.element
}

// reduceBuckets adds what ZeRO-1 and 2 reduce with: a bucket that fills, a
// second one where reductions run behind the backward pass, the slices of one
// side by side, and those in the type that they are reduced in. Without ZeRO,
// and for bf16 parameters with fp32 gradients under ZeRO-1, gradients are copied together after it, into a
// block that finds no room among what activations have left free.
func (m *Model) reduceBuckets(e *evaluation, elements int64, s *state) {
	bucket, staged, reduced := min(m.runtime.Buckets.Reduce, elements), m.element, m.reducedBytes(e)
	if e.l.ZeroStage == 1 {
		staged = reduced
	}
	if e.l.ZeroStage == 0 || m.accumulates(e) {
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
	if e.l.ZeroStage < e.sharding.Gradients { // they stay, and are counted among the gradients
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
	if r := m.reducedBytes(e); r > m.element && elements > m.runtime.Buckets.Reduce {
		return elements * r
	}
	return 0
}

// shardedParameters adds what stage 3 does to parameters: live and prefetched
// ones beside the shards, and the secondary copy of hpZ.
func (m *Model) shardedParameters(e *evaluation, h *holding, s *state) {
	n, b, elements := e.shards, &m.runtime.Buckets, h.elements.Sum()
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
	copies := m.stepCopies(e)
	s.step.step += min(copies*b.SubGroup, n.of(float64(copies), h.elements))
}
