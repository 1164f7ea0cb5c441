package schedule

// oneForwardOneBackward is GPipe, 1F1B and its interleaved form: forwards
// until the rank leads by what its schedule says, then a forward and a backward
// in turn, then the backwards that are left.
func oneForwardOneBackward(w *writer, s Shape, rank int) {
	all, lead := s.MicroBatches*s.Virtual, s.warmup(rank)
	s = s.Prepare()
	pass := func(work Work, k int) {
		local, microBatch := s.at(k)
		if work == Backward {
			local = s.Virtual - 1 - local
		}
		w.passes = append(w.passes, Pass{Work: work, Chunk: int32(local*s.Pipeline + rank), MicroBatch: int32(microBatch)})
	}
	for k := range lead {
		pass(Forward, k)
	}
	for k := range all - lead {
		pass(Forward, lead+k)
		pass(Backward, k)
	}
	for k := all - lead; k < all; k++ {
		pass(Backward, k)
	}
}
