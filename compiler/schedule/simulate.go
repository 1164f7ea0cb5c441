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
// may work. Together says that the engine runs the pairs of a schedule as one:
// both start when the inputs of both are there and end together, which hides
// the communication of one behind the other's compute; what that saves is left
// to the durations.
type Durations struct {
	Forward        []units.Seconds
	InputGradient  []units.Seconds
	WeightGradient []units.Seconds
	Transfer       units.Seconds
	Together       bool
}

// Backward is the whole backward of a chunk.
func (d *Durations) Backward(chunk int) units.Seconds {
	return d.InputGradient[chunk] + d.weight(chunk)
}

func (d *Durations) weight(chunk int) units.Seconds {
	if d.WeightGradient == nil {
		return 0
	}
	return d.WeightGradient[chunk]
}

// of is the time of a pass.
func (d *Durations) of(p Pass) units.Seconds {
	switch p.Work {
	case Forward:
		return d.Forward[p.Chunk]
	case Backward:
		return d.Backward(int(p.Chunk))
	case InputGradient:
		return d.InputGradient[p.Chunk]
	}
	return d.weight(int(p.Chunk))
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
func Simulate(s Shape, d *Durations) Result { return NewOrder(s).Simulate(d) }

// Simulate runs an order and records everything. It panics when the order
// waits for itself.
func (o *Order) Simulate(d *Durations) Result {
	var m Simulator
	r := Result{
		Seconds:  m.replay(o, d),
		Busy:     make([]units.Seconds, o.Pipeline),
		InFlight: make([]int, o.Pipeline),
		Ranks:    make([][]plan.Slot, o.Pipeline),
	}
	busiest, at := units.Seconds(0), 0
	for rank, passes := range o.Ranks {
		for i, p := range passes {
			end := m.ended[at+i]
			r.Ranks[rank] = append(r.Ranks[rank], plan.Slot{Kind: workNames[p.Work], MicroBatch: int(p.MicroBatch), Chunk: int(p.Chunk), Start: end - d.of(p), End: end})
			r.Busy[rank] += d.of(p)
		}
		at += len(passes)
		r.InFlight[rank] = o.InFlight(rank)
		busiest = max(busiest, r.Busy[rank])
	}
	if r.Seconds > 0 {
		r.BubbleShare = units.Share(1 - busiest/r.Seconds)
	}
	return r
}

// workNames are the kinds of plan.Slot.
var workNames = [...]string{"forward", "backward", "input_gradient", "weight_gradient"}

// alive is by how many chunk-forwards a pass changes what its rank holds: from
// the forward pass to the end of the whole backward pass, weights included.
func (w Work) alive() int {
	switch w {
	case Forward:
		return 1
	case InputGradient:
		return 0
	}
	return -1
}

// InFlight is the largest number of chunk-forwards whose activations are alive
// on a rank at once.
func (o *Order) InFlight(rank int) int {
	alive, most := 0, 0
	for _, p := range o.Ranks[rank] {
		alive += p.Work.alive()
		most = max(most, alive)
	}
	return most
}

// Simulator computes durations again and again without allocating once its
// scratch space has grown. It is not safe for concurrent use.
type Simulator struct {
	order     Order
	forwards  []units.Seconds // end of the forward pass of (chunk, micro-batch)
	gradients []units.Seconds // and of the pass that makes its input gradient
	ended     []units.Seconds // end of every pass, rank after rank
	next      []int           // per rank, the next pass

	localChunk        []int32         // wave: of the k-th chunk-forward of a rank
	warm              []int           // wave: per rank
	forward, backward []units.Seconds // wave: ends of chunk-forwards and -backwards, step after step; oneGroup: rank after rank
	whole             []units.Seconds // wave: the whole backward of a chunk
	free              []units.Seconds // end of the last pass, per rank
}

// pending marks a pass that has not run.
const pending units.Seconds = -1

// run simulates all micro-batches of a shape.
func (m *Simulator) run(s Shape, d *Durations) units.Seconds {
	m.order.fill(s)
	return m.replay(&m.order, d)
}

// replay runs the passes of every rank in their order, each as soon as what it
// waits for has arrived, and returns the end of the last one.
func (m *Simulator) replay(o *Order, d *Durations) units.Seconds {
	left := m.prepare(o)
	for left > 0 {
		before := left
		for rank := range o.Pipeline {
			left -= m.advance(o, d, rank)
		}
		for rank := o.Pipeline - 1; rank >= 0; rank-- {
			left -= m.advance(o, d, rank)
		}
		if left == before {
			panic("schedule: the order of passes waits for itself")
		}
	}
	last := units.Seconds(0)
	for _, t := range m.free {
		last = max(last, t)
	}
	return last
}

// prepare sizes and clears the scratch space and counts the passes.
func (m *Simulator) prepare(o *Order) (passes int) {
	n := o.Chunks * o.MicroBatches
	m.forwards, m.gradients = grow(m.forwards, n), grow(m.gradients, n)
	for i := range n {
		m.forwards[i], m.gradients[i] = pending, pending
	}
	m.next, m.free = grow(m.next, o.Pipeline), grow(m.free, o.Pipeline)
	for rank := range o.Pipeline {
		m.next[rank], m.free[rank] = 0, 0
		passes += len(o.Ranks[rank])
	}
	m.ended = grow(m.ended, passes)
	return passes
}

// advance runs what a rank can run now and counts it.
func (m *Simulator) advance(o *Order, d *Durations, rank int) int {
	passes, first, offset := o.Ranks[rank], m.next[rank], 0
	for r := range rank {
		offset += len(o.Ranks[r])
	}
	for i := first; i < len(passes); {
		unit := passes[i : i+1]
		if d.Together && passes[i].Paired {
			unit = passes[i : i+2]
		}
		end := m.start(o, d, unit)
		if end == pending {
			break
		}
		end = max(m.free[rank], end)
		for _, p := range unit {
			end += d.of(p)
		}
		for _, p := range unit {
			m.finish(o, p, end)
			m.ended[offset+i] = end
			i++
		}
		m.free[rank], m.next[rank] = end, i
	}
	return m.next[rank] - first
}

// start is when the inputs of passes that run together have arrived; pending
// if one has not been made.
func (m *Simulator) start(o *Order, d *Durations, unit []Pass) (start units.Seconds) {
	for _, p := range unit {
		t := m.ready(o, d, p)
		if t == pending {
			return pending
		}
		start = max(start, t)
	}
	return start
}

// finish keeps when a pass has ended for those that wait for it.
func (m *Simulator) finish(o *Order, p Pass, end units.Seconds) {
	switch at := int(p.Chunk)*o.MicroBatches + int(p.MicroBatch); p.Work {
	case Forward:
		m.forwards[at] = end
	case Backward, InputGradient:
		m.gradients[at] = end
	}
}

// ready is when the input of a pass has arrived; pending if its sender has not
// finished. What a rank made itself is there by its order.
func (m *Simulator) ready(o *Order, d *Durations, p Pass) units.Seconds {
	ends, from := m.forwards, -1
	switch p.Work {
	case Forward:
		from = o.before(int(p.Chunk))
	case Backward, InputGradient:
		ends, from = m.gradients, o.after(int(p.Chunk))
	}
	if from < 0 {
		return 0
	}
	t := ends[from*o.MicroBatches+int(p.MicroBatch)]
	if t == pending || o.Placement.Rank(from, o.Pipeline) == o.Placement.Rank(int(p.Chunk), o.Pipeline) {
		return t
	}
	return t + d.Transfer
}

// grow returns a slice of length n, on the old memory if it suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
