package schedule

// dualShape is a rank of DualPipe: the number of ranks until the two directions
// meet, its place among them, and the micro-batches of one direction. DualPipeV
// is one half of it, whose V has both ways on every rank.
type dualShape struct{ half, at, microBatches int }

// dual is DualPipe (DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1) and
// DualPipeV, in eight steps. Local chunk 0 is the way on which this rank comes
// early, 1 the way back or the opposite one.
func dual(w *writer, d dualShape) {
	behind := d.half - d.at - 1
	for range 2 * behind {
		w.forward(0)
	}
	for range d.at + 1 {
		w.forward(0)
		w.forward(1)
	}
	for range behind {
		w.input(1)
		w.weight()
		w.forward(1)
	}
	for i := range d.microBatches - 2*d.half + d.at + 1 {
		if i == 0 && behind == 0 { // apart, the last rank has its gradient earlier
			w.forward(0)
			w.backward(1)
		} else {
			w.pair(0, 1)
		}
		w.pair(1, 0)
	}
	for range behind {
		w.backward(1)
		w.pair(1, 0)
	}
	d.drain(w)
}

// drain runs the last backward passes, the second half of them without their
// weights, which fill the gaps at the end.
func (d dualShape) drain(w *writer) {
	split := false
	back := func(local int) {
		if split {
			w.input(local)
		} else {
			w.backward(local)
		}
	}
	turn := (d.at + 1) / 2
	for i := range d.at + 1 {
		split = split || i == turn && d.at%2 == 1
		back(1)
		split = split || i == turn && d.at%2 == 0
		back(0)
	}
	for range d.half - d.at - 1 {
		w.weight()
		back(0)
	}
	for range d.at + 1 {
		w.weight()
	}
}
