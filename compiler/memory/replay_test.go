package memory

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// instants walks the passes of a rank in plain words and lists everything that a
// replay may hold, nothing folded.
func instants(o *schedule.Order, rank int, comes comings) []instant {
	var out []instant
	now := make([]held, o.Chunks/o.Pipeline)
	for _, p := range o.Ranks[rank] {
		c, one := int(p.Chunk)/o.Pipeline, map[bool]int32{true: 1}
		begins, work := o.First(int(p.Chunk)), p.Work
		switch {
		case begins && work == schedule.InputGradient:
			continue
		case begins && work == schedule.WeightGradient:
			work = schedule.Backward
		}
		adds := work == schedule.InputGradient && now[c].loose > 0
		note := func(fresh bool, phases ...phase) {
			for _, ph := range phases {
				at := instant{phase: ph, chunk: c, begins: begins, ends: o.Last(int(p.Chunk)), fresh: fresh, ready: now[c].gathered > 0, held: append([]held(nil), now...)}
				at.late = ph == afterInputs || work == schedule.WeightGradient
				at.adds = ph == afterInputs && adds
				if !at.ends && (ph == inLoss || ph == inChunkedLoss || ph == inHeadReduction) || !at.begins && ph == inEmbedding {
					continue
				}
				out = append(out, at)
			}
		}
		if work == schedule.Forward {
			now[c].alive++
			now[c].gathered = 0
			note(false, afterForward, inChunkedLoss, inHeadReduction)
			continue
		}
		if work != schedule.WeightGradient {
			note(false, inLoss, inFirstLayer, inSecondLayer)
			now[c].gathered = one[comes.parameters]
			if comes.gradients && now[c].loose > 0 {
				now[c].begun = 1
			}
			now[c].loose = 0
		}
		if work == schedule.InputGradient {
			now[c].waiting++
			note(false, afterInputs)
			continue
		}
		if work == schedule.WeightGradient {
			note(false, inLastLayer)
			now[c].alive--
			now[c].waiting--
			now[c].loose = 1
			continue
		}
		fresh := comes.gradients && now[c].begun == 0
		now[c].begun = one[comes.gradients]
		note(fresh, inLastLayer)
		note(false, inEmbedding)
		now[c].alive--
	}
	return out
}

// replayed replays a rank each of whose chunks is a class of its own.
func replayed(o *schedule.Order, rank int, comes comings) *replay {
	class := make([]int, o.Chunks/o.Pipeline)
	for i := range class {
		class[i] = i
	}
	return replayRank(o, rank, comes, class)
}

// instant is an instant with what exists of classes in place of chunks.
func (r *stageRank) instant(at *instant) instant {
	out := *at
	out.chunk, out.held = r.class[at.chunk], make([]held, len(r.chunks))
	for i := range at.held {
		out.held[r.class[i]].add(&at.held[i])
	}
	return out
}

// TestReplay spells a rank out: the first of two under 1F1B with three
// micro-batches, whose gradients come with the first backward pass and whose
// parameters that leaves gathered.
func TestReplay(t *testing.T) {
	o := schedule.NewOrder(schedule.Shape{Schedule: plan.Schedule1F1B, Pipeline: 2, Virtual: 1, MicroBatches: 3})
	names := map[phase]string{afterForward: "forward", inFirstLayer: "first layer", inLastLayer: "last layer", inEmbedding: "embedding"}
	have := map[string]bool{}
	for _, r := range replayed(o, 0, comings{true, true}).all {
		have[fmt.Sprint(names[r.first.phase], " ", r.first.held[0], " to ", r.last.held[0])] = true
	}
	for _, want := range []string{
		"forward {2 0 1 0 0} to {2 0 1 0 0}",     // the third forward pass, after the first backward pass
		"first layer {2 0 1 0 0} to {2 0 1 0 0}", // the second backward pass
		"first layer {1 0 1 1 0} to {1 0 1 1 0}", // the third, with no forward pass before it
		"last layer {2 0 1 1 0} to {1 0 1 1 0}",
		"embedding {2 0 1 1 0} to {1 0 1 1 0}",
	} {
		if !have[want] {
			t.Errorf("no %s", want)
		}
		delete(have, want)
	}
	for more := range have {
		t.Errorf("%s is within another", more)
	}
}

// TestFolded: what a stage peaks at is the heaviest of all instants of its
// passes, one by one, with every micro-batch.
func TestFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		tg := targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime"))
		m := New(j, tg)
		for range 10 {
			l, x := drawAny(t, j)
			e := m.evaluate(l, x)
			o := schedule.NewOrder(schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches})
			for rank := range l.PipelineParallel {
				var s stageMemory
				r := m.rank(rank)
				m.stage(&e, &r, &s)
				if got, want := s.sum, m.heaviest(&e, o, &r); got != want {
					t.Fatalf("%+v\n%+v:\nrank %d holds %d, its heaviest instant %d", l, x, rank, got, want)
				}
			}
		}
	})
}

// heaviest weighs every instant of a rank.
func (m *Model) heaviest(e *evaluation, o *schedule.Order, rank *stageRank) int64 {
	var a account
	m.content(e, rank, &a.content, false)
	m.state(e, &a.content.holding, &a.state)
	m.chunkState(e, &a)
	a.state.resident[lineWorkspaces] += e.terms.workspaces + int64(a.content.blocks)*e.terms.rotary
	most := a.state.step.sum()
	for _, at := range instants(o, rank.number, m.comings()) {
		at = rank.instant(&at)
		if m.occurs(e, &at, &a) {
			most = max(most, m.weigh(e, &at, &a).sum()+a.footprint.sum(&a.content))
		}
	}
	return most + a.state.resident.sum() + a.content.scratch + a.content.receive
}

// TestShortened: micro-batches that are left out bring nothing to any rank that
// the others do not.
func TestShortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedule.Shape{Schedule: rapid.SampledFrom([]plan.Schedule{plan.Schedule1F1B, plan.ScheduleInterleaved1F1B, plan.ScheduleZBV, plan.ScheduleDualPipeV}).Draw(t, "schedule"), Virtual: 1}
		s.Pipeline = rapid.IntRange(2, 9).Draw(t, "pipeline")
		s.MicroBatches = rapid.IntRange(2*s.Pipeline, 12*s.Pipeline).Draw(t, "micro-batches")
		switch s.Schedule {
		case plan.ScheduleInterleaved1F1B:
			s.Virtual = rapid.IntRange(2, 5).Draw(t, "virtual")
		case plan.ScheduleZBV, plan.ScheduleDualPipeV:
			s.Virtual = 2
		}
		comes := comings{gradients: rapid.Bool().Draw(t, "gradients"), parameters: rapid.Bool().Draw(t, "parameters")}
		all, some := schedule.NewOrder(s), schedule.NewOrder(shortened(s))
		for rank := range s.Pipeline {
			a, b := replayed(all, rank, comes), replayed(some, rank, comes)
			if !a.covers(b) || !b.covers(a) {
				t.Fatalf("%+v: rank %d holds other things with fewer micro-batches", s, rank)
			}
		}
	})
}

// TestLeads: where only activations come and go, the rank before holds at least
// as much under every schedule that says so without a replay.
func TestLeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		m := New(j, targetOf(rapid.SampledFrom(runtimes.All()).Draw(t, "runtime")))
		l, _ := drawAny(t, j)
		m.lineUp(l, &plan.Execution{})
		for rank := 1; rank < l.PipelineParallel && m.leads(); rank++ {
			shape := m.pipeline.shape
			before, here := replayed(schedule.NewRank(shape, rank-1), rank-1, m.comings()), replayed(schedule.NewRank(shape, rank), rank, m.comings())
			for i := range here.all { // the ends of the pipeline have more to do
				r := &here.all[i]
				if r.first.phase == inFirstLayer && !r.first.ends && (!before.has(&r.first) || !before.has(&r.last)) {
					t.Fatalf("%+v: rank %d holds more than the one before", l, rank)
				}
			}
		}
	})
}
