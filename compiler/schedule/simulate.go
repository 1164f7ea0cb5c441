package schedule

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Durations are the times of one micro-batch on every chunk, in pipeline
// order. WeightGradient may be nil when InputGradient holds the whole
// backward. A transfer during which the sender waits belongs in the durations
// of its chunk; Transfer is the time between the end of a chunk on one rank
// and the earliest start of its neighbour on another rank, during which both
// may work.
type Durations struct {
	Forward        []units.Seconds
	InputGradient  []units.Seconds
	WeightGradient []units.Seconds
	Transfer       units.Seconds
}

// backward is the whole backward of a chunk.
func (d *Durations) backward(chunk int) units.Seconds {
	if d.WeightGradient == nil {
		return d.InputGradient[chunk]
	}
	return d.InputGradient[chunk] + d.WeightGradient[chunk]
}

// Result is one simulated pipeline.
type Result struct {
	Seconds     units.Seconds   // from the first forward to the end of the last backward
	Busy        []units.Seconds // work per rank
	BubbleShare units.Share     // of the busiest rank: 1 − work over Seconds
	InFlight    []int           // most chunk-forwards alive at once, per rank
	Ranks       [][]plan.Slot   // in the order of execution
}

// Simulate runs the schedule and records everything. The hot loop uses
// Simulator.Duration instead.
func Simulate(s Shape, d *Durations) Result {
	var m Simulator
	seconds := m.run(s, d)
	r := Result{
		Seconds:  seconds,
		Busy:     make([]units.Seconds, s.Pipeline),
		InFlight: make([]int, s.Pipeline),
		Ranks:    make([][]plan.Slot, s.Pipeline),
	}
	busiest := units.Seconds(0)
	for rank := range s.Pipeline {
		r.Ranks[rank] = m.slots(s, d, rank)
		r.Busy[rank], r.InFlight[rank] = tally(r.Ranks[rank])
		busiest = max(busiest, r.Busy[rank])
	}
	if seconds > 0 {
		r.BubbleShare = units.Share(1 - busiest/seconds)
	}
	return r
}

// slots lists the work of a rank after run.
func (m *Simulator) slots(s Shape, d *Durations, rank int) []plan.Slot {
	n := 2 * s.MicroBatches * s.Virtual
	out := make([]plan.Slot, 0, n)
	for i := range n {
		o := m.op(s, rank, i)
		slot := plan.Slot{Kind: "forward", MicroBatch: int(m.microBatch[o.index]), Chunk: o.chunk}
		duration := d.Forward[o.chunk]
		if o.backward {
			slot.Kind, duration = "backward", d.backward(o.chunk)
		}
		slot.End = m.end[o.at]
		slot.Start = slot.End - duration
		out = append(out, slot)
	}
	return out
}

// tally sums the work of a rank and counts what is in flight on it.
func tally(slots []plan.Slot) (busy units.Seconds, inFlight int) {
	alive := 0
	for _, s := range slots {
		busy += s.End - s.Start
		if s.Kind == "forward" {
			alive++
			inFlight = max(inFlight, alive)
		} else {
			alive--
		}
	}
	return busy, inFlight
}

// Simulator computes durations again and again without allocating once its
// scratch space has grown. It is not safe for concurrent use.
type Simulator struct {
	end        []units.Seconds // end of forward of (chunk, micro-batch), then of backward
	localChunk []int32         // of the k-th chunk-forward of a rank
	microBatch []int32         // of the k-th chunk-forward of a rank
	next       []int           // per rank, the next operation
	warm       []int           // per rank

	forward, backward []units.Seconds // wave: ends of the k-th chunk-forward and -backward, rank after rank
	free              []units.Seconds // wave: end of the last operation, per rank
}

// pending marks an operation that has not run.
const pending units.Seconds = -1

// operation is one piece of work of a rank.
type operation struct {
	backward bool
	index    int // among the forwards or the backwards of the rank
	chunk    int // in pipeline order
	at       int // where its end stands
}

// run simulates all micro-batches and returns the end of the last operation.
// The operations of a rank run in their fixed order, each as soon as what it
// waits for has arrived.
func (m *Simulator) run(s Shape, d *Durations) units.Seconds {
	m.prepare(s)
	left := 2 * s.MicroBatches * s.Virtual * s.Pipeline
	last := units.Seconds(0)
	for left > 0 {
		before := left
		for rank := range s.Pipeline {
			left -= m.advance(s, d, rank, &last)
		}
		for rank := s.Pipeline - 1; rank >= 0; rank-- {
			left -= m.advance(s, d, rank, &last)
		}
		if left == before {
			panic("schedule: the order of operations waits for itself")
		}
	}
	return last
}

// prepare sizes and clears the scratch space.
func (m *Simulator) prepare(s Shape) {
	all := s.MicroBatches * s.Virtual
	m.end = grow(m.end, 2*all*s.Pipeline)
	for i := range m.end {
		m.end[i] = pending
	}
	m.localChunk, m.microBatch = grow(m.localChunk, all), grow(m.microBatch, all)
	for k := range all {
		c, b := s.at(k)
		m.localChunk[k], m.microBatch[k] = int32(c), int32(b)
	}
	m.next, m.warm = grow(m.next, s.Pipeline), grow(m.warm, s.Pipeline)
	for rank := range s.Pipeline {
		m.next[rank], m.warm[rank] = 0, s.warmup(rank)
	}
}

// grow returns a slice of length n, on the old memory if it suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// advance runs what a rank can run now and counts it.
func (m *Simulator) advance(s Shape, d *Durations, rank int, last *units.Seconds) int {
	n, first := 2*s.MicroBatches*s.Virtual, m.next[rank]
	free := units.Seconds(0)
	if first > 0 {
		free = m.end[m.op(s, rank, first-1).at]
	}
	for m.next[rank] < n {
		o := m.op(s, rank, m.next[rank])
		ready := m.ready(s, d, o)
		if ready == pending {
			break
		}
		duration := d.Forward[o.chunk]
		if o.backward {
			duration = d.backward(o.chunk)
		}
		free = max(free, ready) + duration
		m.end[o.at] = free
		*last = max(*last, free)
		m.next[rank]++
	}
	return m.next[rank] - first
}

// op is the i-th operation of a rank: warm-up forwards, then one forward and
// one backward in turn, then the backwards that are left.
func (m *Simulator) op(s Shape, rank, i int) operation {
	all, w := s.MicroBatches*s.Virtual, m.warm[rank]
	o := operation{index: i}
	switch steady := 2 * (all - w); {
	case i < w:
	case i < w+steady:
		o.backward = (i-w)%2 == 1
		o.index = (i - w) / 2
		if !o.backward {
			o.index += w
		}
	default:
		o.backward, o.index = true, i-all
	}
	local := int(m.localChunk[o.index])
	if o.backward {
		local = s.Virtual - 1 - local
	}
	o.chunk = local*s.Pipeline + rank
	o.at = o.chunk*s.MicroBatches + int(m.microBatch[o.index])
	if o.backward {
		o.at += all * s.Pipeline
	}
	return o
}

// ready is when the input of an operation has arrived; pending if its sender
// has not finished.
func (m *Simulator) ready(s Shape, d *Durations, o operation) units.Seconds {
	from, edge := o.at-s.MicroBatches, o.chunk == 0
	if o.backward {
		from, edge = o.at+s.MicroBatches, o.chunk == s.Pipeline*s.Virtual-1
	}
	if edge {
		return 0
	}
	t := m.end[from]
	if t == pending || s.Pipeline == 1 {
		return t
	}
	return t + d.Transfer
}
