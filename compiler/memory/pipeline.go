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
	split   []int // the layout's stage_layers
	place   schedule.Placement
	starts  []int    // first layer of every chunk, and the end
	replays []replay // of every rank
	judged  []int    // ranks of which one is the busiest
	known   map[schedule.Shape][]replay
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
	p.replays = m.replaysOf(shortened(shape))
	p.judged = p.judged[:0]
	for rank := range l.PipelineParallel {
		if !m.covered(rank) {
			p.judged = append(p.judged, rank)
		}
	}
}

// replaysOf replays an order, or remembers it.
func (m *Model) replaysOf(s schedule.Shape) []replay {
	known, ok := m.pipeline.known[s]
	if !ok {
		known = replayOrder(schedule.NewOrder(s), m.runtime.Sharding.StoresFP32)
		m.pipeline.known[s] = known
	}
	return known
}

// Rounds of micro-batches after which nothing new happens on any rank, until
// the last backward passes.
const (
	interleavedRounds = 4 // of a group of micro-batches on every chunk
	listedRounds      = 6 // of as many micro-batches as ranks, for schedules that have no closed form
)

// shortened leaves micro-batches out that repeat what others do: what exists on
// a rank recurs with every one, or with every group of an interleaved schedule.
func shortened(s schedule.Shape) schedule.Shape {
	s = s.Prepare()
	switch n := s.MicroBatches; s.Schedule {
	case plan.ScheduleGPipe: // everything is in flight at once
	case plan.ScheduleNone, plan.Schedule1F1B:
		s.MicroBatches = min(n, s.Pipeline+1)
	case plan.ScheduleInterleaved1F1B:
		s.MicroBatches = min(n, interleavedRounds*s.Group+n%s.Group)
	default:
		s.MicroBatches = min(n, listedRounds*s.Pipeline)
	}
	return s
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

// covered reports whether the rank before, which is judged or covered itself,
// holds at least as much at every instant (docs/memory.md, "Which ranks are
// judged"): both are no ends of the pipeline, have the same layers, and whatever
// exists on the one exists on the other at some instant.
func (m *Model) covered(rank int) bool {
	p := &m.pipeline
	return rank > 1 && rank < p.shape.Pipeline-1 && p.replays[rank].within && m.sameLayers(rank)
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
