package schedule

// handcrafted is ZB-H1 (ahead 1) and ZB-H2 (ahead 2) of Qi et al. 2023
// (arXiv:2401.10241, sections 2.1 and 2.2). A rank starts as under 1F1B, with
// that many times the lead, and makes weight gradients as many micro-batches
// late as ranks stand before it, times ahead: so each rank holds as many
// micro-batches as the first, and the weights fill what was the last bubble.
func handcrafted(w *writer, s Shape, rank, ahead int) {
	lead := min(ahead*(s.Pipeline-1-rank), s.MicroBatches)
	for range lead {
		w.forward(0)
	}
	for k := range s.MicroBatches {
		if k < s.MicroBatches-lead {
			w.forward(0)
		}
		w.input(0)
		if k >= ahead*rank {
			w.weight()
		}
	}
	for range s.MicroBatches {
		w.weight()
	}
}

// zeroBubbleVee is ZBV after Qi et al. 2024 (arXiv:2405.15362). The order is
// made for at least 2p−1 micro-batches; passes of those that do not exist
// are left out.
func zeroBubbleVee(w *writer, s Shape, rank int) {
	p, m := s.Pipeline, max(2*s.Pipeline-1, s.MicroBatches)
	z := vee{w: w, exist: s.MicroBatches}
	for range 2*(p-rank) - 1 {
		z.forward(0)
	}
	for range rank {
		z.forward(1)
		z.forward(0)
	}
	for range p - rank {
		z.forward(1)
		z.both(1)
	}
	for z.done[Forward][1] < z.done[Forward][0] || z.done[Forward][0] < m {
		if z.done[Forward][0] < m {
			z.forward(0)
		}
		z.both(0)
		z.forward(1)
		z.both(1)
	}
	for range rank {
		z.pass(InputGradient, 0)
		z.pass(InputGradient, 1)
	}
	for range p - rank {
		z.both(0)
	}
	for z.done[WeightGradient][1] < z.done[InputGradient][1] {
		z.pass(WeightGradient, 1)
	}
	for z.done[WeightGradient][0] < z.done[InputGradient][0] {
		z.pass(WeightGradient, 0)
	}
}

// vee counts the passes of the two chunks of a rank, those of micro-batches
// that do not exist included.
type vee struct {
	w     *writer
	exist int
	done  [WeightGradient + 1][2]int
}

func (z *vee) forward(local int) { z.pass(Forward, local) }

// both makes both gradients of a chunk, each of its own next micro-batch.
func (z *vee) both(local int) {
	z.pass(InputGradient, local)
	z.pass(WeightGradient, local)
}

func (z *vee) pass(work Work, local int) {
	if k := z.done[work][local]; k < z.exist {
		z.w.passes = append(z.w.passes, Pass{Work: work, Chunk: int32(Vee.Chunk(z.w.rank, local, z.w.order.Pipeline)), MicroBatch: int32(k)})
	}
	z.done[work][local]++
}
