package memory

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
)

// pipeline is what a schedule and a split of the layers decide, whatever the
// layers keep.
type pipeline struct {
	shape   schedule.Shape // with the micro-batches that are replayed
	split   []int          // the layout's stage_layers
	place   schedule.Placement
	starts  []int // first layer of every chunk, and the end
	replays replays
	judged  []stageRank // of those below looked, those of which one of all is the busiest
	looked  int         // ranks
}

// pipelines remembers what layouts share: those that follow one another differ in
// their recompute or micro-batch alone, and the same orders and splits come back
// in many meshes.
type pipelines struct {
	known map[string]*pipeline
	key   []byte
}

// mostPipelines bounds what a long search remembers to some megabytes.
const mostPipelines = 1 << 12

// shapeOf is the pipeline of a layout. A backward pass of overlapped experts runs
// beside the forward pass after it; without a pipeline each layer that goes makes
// room for one that comes.
func shapeOf(l *plan.Layout, x *plan.Execution) schedule.Shape {
	s := schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches}
	if x.OverlapExpertParallel && l.PipelineParallel > 1 {
		s.Ahead = 1
	}
	return s
}

// lineUp makes the pipeline of a layout the model's, if it is not yet.
func (m *Model) lineUp(l *plan.Layout, x *plan.Execution) {
	shape := shortened(shapeOf(l, x))
	if p := m.pipeline; p != nil && shape == p.shape && slices.Equal(l.StageLayers, p.split) {
		return
	}
	all := &m.pipelines
	all.key = all.key[:0]
	for _, n := range [...]int{int(shape.Schedule), shape.Pipeline, shape.Virtual, shape.MicroBatches, shape.Group, shape.Ahead} {
		all.key = binary.AppendUvarint(all.key, uint64(n))
	}
	for _, n := range l.StageLayers {
		all.key = binary.AppendUvarint(all.key, uint64(n))
	}
	p, ok := all.known[string(all.key)]
	if !ok {
		p = &pipeline{shape: shape, split: slices.Clone(l.StageLayers), place: schedule.PlacementOf(shape.Schedule),
			replays: replaysOf(replayKey{shape, m.comings()})}
		p.cut(l, m.arch.Model.Layers)
	}
	m.pipeline = p
	if ok {
		return
	}
	if len(all.known) >= mostPipelines {
		clear(all.known)
	}
	all.known[string(all.key)] = p
}

// judged is the n-th of the ranks of which one is the busiest, nil after the last.
// They are found as far as somebody asks, because their passes have to be replayed.
func (m *Model) judged(n int) *stageRank {
	p := m.pipeline
	for ; len(p.judged) <= n && p.looked < p.shape.Pipeline; p.looked++ {
		if !m.covered(p.looked) {
			p.judged = append(p.judged, m.rank(p.looked))
		}
	}
	if n >= len(p.judged) {
		return nil
	}
	return &p.judged[n]
}

// replays are those of the ranks of an order, by classes, nil where nobody asked yet.
type replays []atomic.Pointer[replay]

// replayKey is all that replays depend on.
type replayKey struct {
	shape schedule.Shape
	comes comings
}

// mostReplays bounds what the process remembers of them to some megabytes.
const mostReplays = 1 << 10

// shared are the replays of all models of the process: the same orders come back
// in every search, and in every worker of one.
var shared = struct {
	sync.Mutex
	of map[replayKey]replays
}{of: map[replayKey]replays{}}

// replaysOf looks replays up, or makes room for them.
func replaysOf(k replayKey) replays {
	shared.Lock()
	defer shared.Unlock()
	r, ok := shared.of[k]
	if !ok {
		if len(shared.of) >= mostReplays {
			clear(shared.of)
		}
		r = make(replays, k.shape.Pipeline)
		shared.of[k] = r
	}
	return r
}

// replay replays the passes of a rank of the model's pipeline, or remembers them.
// Of two workers that do so at once, one may keep its own to itself.
func (m *Model) replay(r *stageRank) *replay {
	p := m.pipeline
	known := p.replays[r.number].Load()
	for a := known; a != nil; a = a.next {
		if slices.Equal(a.class, r.class) {
			return a
		}
	}
	out := replayRank(schedule.NewRank(p.shape, r.number), r.number, m.comings(), r.class)
	out.next = known
	p.replays[r.number].CompareAndSwap(known, out)
	return out
}

// comings is what comes and goes with passes under the model's runtime.
func (m *Model) comings() comings {
	return comings{gradients: m.runtime.Sharding.MakesGradients, parameters: m.runtime.Sharding.LeavesGathered}
}

// Rounds of micro-batches after which nothing new happens on any rank, until
// the last backward passes.
const (
	interleavedRounds = 3 // of a group of micro-batches on every chunk
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
	p.starts = append(make([]int, 0, chunks+1), 0)
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
	p := m.pipeline
	if rank < 2 || rank >= p.shape.Pipeline-1 || !m.sameLayers(rank) {
		return false
	}
	if m.leads() {
		return true
	}
	here, before := m.classes(rank), m.classes(rank-1)
	return m.replay(&here).within(m.replay(&before))
}

// leads reports whether a rank needs no replay to know that the rank before
// holds at least as much: the same backward passes with more forward passes
// before each, which nothing but activations depends on.
func (m *Model) leads() bool {
	return m.pipeline.place == schedule.Loop && !schedule.Splits(m.pipeline.shape.Schedule) && m.comings() == (comings{})
}

// sameLayers reports whether every chunk of a rank has the layers of the same
// chunk of the rank before.
func (m *Model) sameLayers(rank int) bool {
	p := m.pipeline
	for i := range p.shape.Virtual {
		if !m.alike(p.chunk(rank, i), p.chunk(rank-1, i)) {
			return false
		}
	}
	return true
}

// alike reports whether two chunks have the same layers, in the same order, and the
// same norm behind them: block recompute keeps what the first ones make apart from the others.
func (m *Model) alike(a, b int) bool {
	starts := m.pipeline.starts
	layers := starts[a+1] - starts[a]
	if starts[b+1]-starts[b] != layers || m.endsDecoder(a) != m.endsDecoder(b) {
		return false
	}
	for i := range layers {
		if m.arch.KindOf(starts[a]+i) != m.arch.KindOf(starts[b]+i) {
			return false
		}
	}
	return true
}
