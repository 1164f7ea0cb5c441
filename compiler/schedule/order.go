package schedule

import "github.com/ndc-dev/ndc/compiler/plan"

// Work is what a pass computes.
type Work uint8

// The kinds of work. A schedule either runs a backward pass as a whole, or
// splits it: the gradient of the input, for which the previous chunk waits, and
// that of the weights, for which nobody does (Qi et al. 2023, arXiv:2401.10241).
const (
	Forward Work = iota
	Backward
	InputGradient
	WeightGradient
)

// Pass is one piece of work of a rank: one chunk on one micro-batch.
type Pass struct {
	Work       Work
	Paired     bool  // an engine may run it together with the pass after it
	Chunk      int32 // in pipeline order
	MicroBatch int32
}

// Placement says which rank a chunk runs on.
type Placement uint8

const (
	// Loop puts chunk c on rank c mod p: a micro-batch goes round the ranks.
	Loop Placement = iota
	// Vee has two chunks per rank and turns at the last rank: rank r runs the
	// chunks r and 2p−1−r.
	Vee
	// Opposed runs two pipelines of p chunks in opposite directions, each with
	// half of the micro-batches: chunk c is stage c of the first, chunk p+c is
	// stage c of the second, on rank p−1−c. Every rank holds two stages.
	Opposed
)

// PlacementOf is the placement that a schedule asks for.
func PlacementOf(s plan.Schedule) Placement {
	switch s {
	case plan.ScheduleZBV, plan.ScheduleDualPipeV:
		return Vee
	case plan.ScheduleDualPipe:
		return Opposed
	}
	return Loop
}

// Splits reports whether a schedule makes gradients of weights apart from those
// of inputs. Such schedules have no closed forms: all that is known of them is
// read off their orders.
func Splits(s plan.Schedule) bool { return s >= plan.ScheduleZBH1 }

// Rank is the pipeline rank of a chunk among p ranks.
func (x Placement) Rank(chunk, p int) int {
	switch {
	case chunk < p:
		return chunk
	case x != Loop:
		return 2*p - 1 - chunk
	}
	return chunk % p
}

// Chunk is the local-th chunk of a rank, in pipeline order.
func (x Placement) Chunk(rank, local, p int) int {
	if x != Loop && local == 1 {
		return 2*p - 1 - rank
	}
	return local*p + rank
}

// Order is a schedule: per rank the sequence of its passes, which it runs one
// after the other, each as soon as its input is there. Everything that this
// package says of a schedule can be read off its order.
type Order struct {
	Placement    Placement
	Pipeline     int // ranks
	Chunks       int // of all ranks
	MicroBatches int // of one direction
	Ranks        [][]Pass
}

// streams is the number of pipelines that share the ranks.
func (o *Order) streams() int {
	if o.Placement == Opposed {
		return 2
	}
	return 1
}

// length is the number of chunks that a micro-batch passes.
func (o *Order) length() int { return o.Chunks / o.streams() }

// before is the chunk whose output a forward pass reads, −1 for the first.
func (o *Order) before(chunk int) int {
	if chunk%o.length() == 0 {
		return -1
	}
	return chunk - 1
}

// after is the chunk whose input gradient a backward pass reads, −1 for the
// last.
func (o *Order) after(chunk int) int {
	if chunk%o.length() == o.length()-1 {
		return -1
	}
	return chunk + 1
}

// First reports whether a chunk is the first that a micro-batch passes.
func (o *Order) First(chunk int) bool { return o.before(chunk) < 0 }

// Last reports whether a chunk is the last that a micro-batch passes.
func (o *Order) Last(chunk int) bool { return o.after(chunk) < 0 }

// NewOrder generates the order of a shape. It panics on a schedule that has
// no generator, and on shapes that Valid refuses.
func NewOrder(s Shape) *Order {
	o := &Order{}
	o.fill(s)
	return o
}

// NewRank generates an order as far as one rank goes: the others have no passes.
func NewRank(s Shape, rank int) *Order {
	o := &Order{}
	o.shape(s)
	o.Ranks = make([][]Pass, s.Pipeline)
	w := writer{order: o, rank: rank, passes: make([]Pass, 0, 2*s.MicroBatches*s.Virtual)}
	generate(&w, s, rank)
	o.Ranks[rank] = w.passes
	return o
}

// shape makes an order that of a shape, apart from its passes.
func (o *Order) shape(s Shape) {
	o.Placement, o.Pipeline = PlacementOf(s.Schedule), s.Pipeline
	o.Chunks, o.MicroBatches = s.Pipeline*s.Virtual, s.MicroBatches
	if o.Placement == Opposed {
		o.Chunks, o.MicroBatches = 2*s.Pipeline, s.MicroBatches/2
	}
}

// fill generates an order on the memory of an earlier one.
func (o *Order) fill(s Shape) {
	o.shape(s)
	if cap(o.Ranks) < s.Pipeline {
		o.Ranks = append(o.Ranks[:cap(o.Ranks)], make([][]Pass, s.Pipeline-cap(o.Ranks))...)
	}
	o.Ranks = o.Ranks[:s.Pipeline]
	for rank := range o.Ranks {
		w := writer{order: o, rank: rank, passes: o.Ranks[rank][:0]}
		generate(&w, s, rank)
		o.Ranks[rank] = w.passes
	}
}

// generate writes the passes of one rank.
func generate(w *writer, s Shape, rank int) {
	switch s.Schedule {
	case plan.ScheduleNone, plan.ScheduleGPipe, plan.Schedule1F1B, plan.ScheduleInterleaved1F1B:
		oneForwardOneBackward(w, s, rank)
	case plan.ScheduleZBH1:
		handcrafted(w, s, rank, 1)
	case plan.ScheduleZBH2:
		handcrafted(w, s, rank, 2)
	case plan.ScheduleZBV:
		zeroBubbleVee(w, s, rank)
	case plan.ScheduleDualPipe:
		dual(w, dualShape{half: s.Pipeline / 2, at: min(rank, s.Pipeline-1-rank), microBatches: s.MicroBatches / 2})
	case plan.ScheduleDualPipeV:
		dual(w, dualShape{half: s.Pipeline, at: rank, microBatches: s.MicroBatches})
	default:
		panic("schedule: " + s.Schedule.String() + " has no order")
	}
}

// writer appends the passes of a rank. A schedule names chunks by their local
// number; the writer counts micro-batches, which every chunk takes in order.
type writer struct {
	order   *Order
	rank    int
	passes  []Pass
	next    [2][2]int32 // forward and backward passes so far, of the chunks of a rank that has at most two
	waiting int         // from which pass on there are input gradients whose weights wait
	owed    int         // how many
}

// forward runs the next micro-batch on a local chunk.
func (w *writer) forward(local int) { w.add(Forward, local, 0) }

// backward runs the next micro-batch back through a local chunk, weights and all.
func (w *writer) backward(local int) { w.add(Backward, local, 1) }

// pair runs a forward pass and the backward pass of the other chunk, which an
// engine may run together.
func (w *writer) pair(forward, backward int) {
	w.forward(forward)
	w.passes[len(w.passes)-1].Paired = true
	w.backward(backward)
}

// input runs the next micro-batch back through a local chunk; its weight
// gradient waits.
func (w *writer) input(local int) {
	w.add(InputGradient, local, 1)
	w.owed++
}

func (w *writer) add(work Work, local, way int) {
	chunk := w.order.Placement.Chunk(w.rank, local, w.order.Pipeline)
	if w.order.Placement == Opposed && w.rank >= w.order.Pipeline/2 {
		// the second half of the ranks is the first of the other direction
		chunk = w.order.Placement.Chunk(w.rank, 1-local, w.order.Pipeline)
	}
	w.passes = append(w.passes, Pass{Work: work, Chunk: int32(chunk), MicroBatch: w.next[way][local]})
	w.next[way][local]++
}

// weight makes the weight gradient that has waited longest, if any does.
func (w *writer) weight() {
	if w.owed == 0 {
		return
	}
	for w.passes[w.waiting].Work != InputGradient {
		w.waiting++
	}
	p := w.passes[w.waiting]
	p.Work, p.Paired = WeightGradient, false
	w.passes = append(w.passes, p)
	w.waiting++
	w.owed--
}
