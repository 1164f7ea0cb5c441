package memory

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
)

// pipeline is what a schedule and a split of the layers decide, whatever the
// layers keep. It is remembered from one layout to the next: many that follow
// one another differ in their recompute or mesh alone.
type pipeline struct {
	shape   schedule.Shape
	split   []int     // the layout's stage_layers
	starts  []int     // first layer of every chunk, and the end
	flights []flights // of every rank
	judged  []int     // ranks of which one is the busiest
	place   schedule.Placement
	held    map[schedule.Shape][]schedule.Held // of schedules that are read off their orders
}

// flights is all that a rank's place in the schedule decides about its memory,
// apart from the ends of the pipeline.
type flights struct {
	inFlight int            // chunk-forwards alive at once
	alive    schedule.Split // the same by chunk
	several  bool           // several chunks
	some     bool           // gradients of the last chunk exist when most are in flight
	again    bool           // gradients of earlier micro-batches do
	// Where a backward pass changes what chunks have gathered and reduced:
	apart bool // another chunk runs forward before each backward pass of one
	turn  int  // backward passes between the last forward pass and those of another chunk
}

// lineUp makes the pipeline of a layout the model's, if it is not yet.
func (m *Model) lineUp(l *plan.Layout) {
	p := &m.pipeline
	shape := schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches}
	if shape == p.shape && slices.Equal(l.StageLayers, p.split) {
		return
	}
	p.shape, p.split, p.place = shape, append(p.split[:0], l.StageLayers...), schedule.PlacementOf(shape.Schedule)
	p.cut(l, m.arch.Model.Layers)
	shape = shape.Prepare()
	p.flights, p.judged = p.flights[:0], p.judged[:0]
	for rank := range l.PipelineParallel {
		p.flights = append(p.flights, m.flightsOf(shape, rank))
	}
	for rank := range l.PipelineParallel {
		if !m.covered(rank) {
			p.judged = append(p.judged, rank)
		}
	}
}

// cut fills starts with the first decoder layer of every chunk.
func (p *pipeline) cut(l *plan.Layout, layers int) {
	chunks := l.Chunks()
	p.starts = append(p.starts[:0], 0)
	if len(l.StageLayers) == chunks {
		end := 0
		for _, size := range l.StageLayers {
			end += size
			p.starts = append(p.starts, end)
		}
		return
	}
	size, rest := layers/chunks, layers%chunks
	for c := range chunks {
		p.starts = append(p.starts, (c+1)*size+min(c+1, rest))
	}
}

// chunk is the local-th chunk of a rank, in pipeline order.
func (p *pipeline) chunk(rank, local int) int { return p.place.Chunk(rank, local, p.shape.Pipeline) }

// flightsOf counts what is in flight on a rank.
func (m *Model) flightsOf(s schedule.Shape, rank int) flights {
	if schedule.Splits(s.Schedule) {
		return m.pipeline.listed(s, rank)
	}
	f := flights{inFlight: s.InFlight(rank), several: s.Virtual > 1}
	f.alive = s.Split(f.inFlight)
	all := s.MicroBatches * s.Virtual
	f.some = all > f.inFlight
	f.again = all > f.inFlight+(s.Virtual-1)*s.Pipeline
	if f.several && m.runtime.Sharding.ReducesFP32 {
		// The order of chunks forward runs ahead of that backward by two steps for
		// every rank behind this one, and comes to another chunk after a step per rank.
		behind := 2 * (s.Pipeline - 1 - rank)
		f.apart, f.turn = behind >= s.Pipeline, behind%s.Pipeline
	}
	return f
}

// steadyRounds is after how many micro-batches per pipeline rank every order
// holds what it will hold at most.
const steadyRounds = 6

// listed reads what is in flight on a rank off the order of a schedule that has
// no closed form.
func (p *pipeline) listed(s schedule.Shape, rank int) flights {
	s.MicroBatches = min(s.MicroBatches, steadyRounds*s.Pipeline)
	held, ok := p.held[s]
	if !ok {
		o := schedule.NewOrder(s)
		for r := range s.Pipeline {
			held = append(held, o.Held(r))
		}
		p.held[s] = held
	}
	h, last := &held[rank], s.Virtual-1
	return flights{inFlight: h.InFlight, alive: h.Alive, several: s.Virtual > 1, some: h.Begun[last], again: h.Begun[0] && h.Begun[last]}
}

// covered reports whether others that are judged hold at least as much as a
// rank at every moment (docs/memory.md, "Which ranks are judged"): the one before
// it where most is in flight, and at the turn to another chunk, when what is left
// in flight is the same on all of them, the one after it.
func (m *Model) covered(rank int) bool {
	if !m.follows(rank) {
		return false
	}
	f := &m.pipeline.flights[rank]
	return f.turn == 0 || f.again && m.follows(rank+1) && m.evenChunks(rank)
}

// follows reports whether a rank and the one before it are no ends of the
// pipeline, have the same layers, and come by the same moments, the later one with
// no more in flight on any chunk.
func (m *Model) follows(rank int) bool {
	p := &m.pipeline
	return rank > 1 && rank < p.shape.Pipeline-1 && p.flights[rank].within(&p.flights[rank-1], p.shape.Virtual) && m.sameLayers(rank)
}

// within reports whether a rank with the same layers comes by the same moments as
// another and has no more in flight on any of its chunks; where all is in flight
// at once, and what a chunk receives into lasts, just as much.
func (f *flights) within(o *flights, chunks int) bool {
	switch {
	case f.some != o.some, f.again != o.again, f.apart != o.apart, (f.turn > 0) != (o.turn > 0):
		return false
	case f.several && !f.again:
		return f.alive == o.alive
	}
	for i := range chunks {
		if f.alive.On(i) > o.alive.On(i) {
			return false
		}
	}
	return true
}

// sameLayers reports whether every chunk of a rank has the layers of the same
// chunk of the rank before.
func (m *Model) sameLayers(rank int) bool {
	p := &m.pipeline
	for i := range p.shape.Virtual {
		if !m.alike(p.chunk(rank, i), p.chunk(rank-1, i)) {
			return false
		}
	}
	return true
}

// evenChunks reports whether all chunks of a rank have the same layers.
func (m *Model) evenChunks(rank int) bool {
	p := &m.pipeline
	for i := 1; i < p.shape.Virtual; i++ {
		if !m.alike(p.chunk(rank, i), p.chunk(rank, 0)) {
			return false
		}
	}
	return true
}

// alike reports whether two chunks have the same layers.
func (m *Model) alike(a, b int) bool {
	starts := m.pipeline.starts
	for k := range m.arch.Kinds() {
		if m.arch.Count(k, starts[a], starts[a+1]) != m.arch.Count(k, starts[b], starts[b+1]) {
			return false
		}
	}
	return true
}
