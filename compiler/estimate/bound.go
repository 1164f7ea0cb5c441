package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// MeshFloor returns a step time that no layout can beat which has the mesh and
// the micro-batch of l: all layers without recompute, spread evenly over the
// pipeline without a bubble, or the way of one micro-batch through all of them,
// which takes longer where they are few. Only these axes of l are read. What the options of x
// overlap slows nothing down, so that no other values of them beat it.
func (e *Evaluator) MeshFloor(l *plan.Layout, x *plan.Execution) units.Seconds {
	e.free = true
	defer func() { e.free = false }()
	bare, y := withoutRecompute(l, x)
	k := wholeKey{e.tableKey(&bare, &y), e.stateKey(&bare, &y)}
	work, ok := e.bareWork[k]
	if !ok {
		work = e.work(k, l, x)
		e.bareWork[k] = work
	}
	return e.floor(max(units.Seconds(l.MicroBatches)*work.all/units.Seconds(l.PipelineParallel), work.passage), l)
}

// bareWork is what all layers take for one micro-batch without recompute, and what of
// it the micro-batch cannot get through without: not the gradients of weights, which
// some schedules put off.
type bareWork struct{ all, passage units.Seconds }

// add counts a pass some times.
func (b *bareWork) add(times int, p *pass) {
	b.all += units.Seconds(times) * (p.forward + p.backward)
	b.passage += units.Seconds(times) * (p.forward + p.backward - p.weight)
}

// withoutRecompute is a layout and its execution without recompute, nor offload
// of activations, whose way to the host recompute shortens.
func withoutRecompute(l *plan.Layout, x *plan.Execution) (plan.Layout, plan.Execution) {
	bare, y := *l, *x
	bare.Recompute, bare.RecomputeModules, bare.RecomputeMethod, bare.RecomputeLayers = plan.RecomputeNone, 0, "", 0
	y.OffloadActivations = false
	return bare, y
}

// work is what all layers take for one micro-batch without recompute. Neither
// list nor table is kept: most meshes are never looked at again, and in a large
// search there are very many.
func (e *Evaluator) work(k wholeKey, layout *plan.Layout, execution *plan.Execution) (work bareWork) {
	bare, y := withoutRecompute(layout, execution)
	l, x := &bare, &y
	g := e.groupsOf(l, x)
	t, ok := e.tables[e.withoutState(k.tableKey, x)]
	if !ok {
		t = &e.passing.table
		e.fillTable(t, e.passingList(program.ShapeOf(l)), l, x, g)
	}
	s := &e.passing.state
	e.passing.layers = grow(e.passing.layers, len(t.layers))
	e.withState(s, t, e.passing.layers[:0], l, x, g)
	t = s
	work.add(1, &t.embedding)
	work.add(1, &t.head)
	work.add(e.model.MTP.Layers, &t.mtp)
	for k := range e.arch.Kinds() {
		quantised, base := *t.at(k, false, false), t.at(k, true, false)
		n := units.Seconds(e.arch.Count(k, 0, e.model.Layers))
		if e.factors != nil {
			n *= units.Seconds(min(e.factors.kept(&quantised, g), e.factors.kept(base, g)))
		}
		work.all += n * min(quantised.forward+quantised.backward, base.forward+base.backward)
		work.passage += n * min(quantised.forward+quantised.backward-quantised.weight, base.forward+base.backward-base.weight)
	}
	return work
}

// passing is the memory of what is looked at once.
type passing struct {
	list         listing
	table, state layerTable
	layers       []pass // of state, where they are not the table's
}

// passingList lists the operations of a shape, and remembers those only that other
// shapes share.
func (e *Evaluator) passingList(s program.Shape) *listing {
	if known := e.listings[s]; known != nil {
		return known
	}
	if s.ExpertParallel == 1 && s.ExpertTensorParallel == 1 {
		return e.listingOf(s)
	}
	e.list(&e.passing.list, s)
	return &e.passing.list
}

// Floor returns a step time that the layout cannot beat, at a small part of
// the cost of EvaluateTime: everything but the pipeline is as there, and the
// pipeline is the bound of a flow shop. Every rank works through all its chunks
// m times; it cannot start before the first micro-batch has passed the ranks
// before it, and after its last backward the gradients have to pass them back,
// unless it makes gradients of weights meanwhile. Of very many chunks, the passage of
// one micro-batch through all of them may take longer. What the options of x overlap
// slows nothing down, as in MeshFloor.
func (e *Evaluator) Floor(l *plan.Layout, x *plan.Execution) units.Seconds {
	e.free = true
	e.begin(l, x)
	e.free = false
	s := &e.step
	var before units.Seconds
	s.pipeline = 0
	split := schedule.Splits(l.PipelineSchedule)
	for r, work := range s.works {
		s.pipeline = max(s.pipeline, before+units.Seconds(l.MicroBatches)*work)
		before += s.durations.Forward[r]
		if !split {
			before += s.durations.InputGradient[r]
		}
	}
	if l.Chunks() > manyChunks {
		s.pipeline = max(s.pipeline, s.passage())
	}
	return e.complete(l, x).total * rounding
}

// manyChunks is from how many chunks on a floor looks at the passage of one
// micro-batch, too. Fewer are soon simulated, and what is counted as evaluated
// stays as it was for models of up to as many layers.
const manyChunks = 128

// passage is how long one micro-batch takes through all chunks and back.
// Of many small chunks and few micro-batches it is most of the pipeline.
func (s *step) passage() units.Seconds {
	place, p := schedule.PlacementOf(s.shape.Schedule), s.shape.Pipeline
	var t units.Seconds
	for c := range s.durations.Forward {
		t += s.durations.Forward[c] + s.durations.InputGradient[c]
		if c > 0 && place.Rank(c, p) != place.Rank(c-1, p) {
			t += 2 * s.durations.Transfer
		}
	}
	return t
}

// floor adds what every step of such length pays at least.
func (e *Evaluator) floor(pipeline units.Seconds, l *plan.Layout) units.Seconds {
	straggler := e.straggler * units.Ratio(math.Log(float64(l.GPUs())))
	return (1 + straggler).Of(pipeline) * rounding
}

// rounding keeps a floor below the evaluation that adds the same terms in
// another order.
const rounding = 1 - 1e-9

// EvaluateMemory fills in the memory of a layout and leaves its time zero.
func (e *Evaluator) EvaluateMemory(l *plan.Layout, x *plan.Execution, out *Result) {
	e.EvaluateMemoryUpTo(l, x, math.MaxInt64, out)
}

// EvaluateMemoryUpTo is EvaluateMemory for who asks no more of a layout that
// needs more than some bytes (memory.Model.PeakUpTo).
func (e *Evaluator) EvaluateMemoryUpTo(l *plan.Layout, x *plan.Execution, most units.Bytes, out *Result) {
	peak := e.memory.PeakUpTo(l, x, most)
	*out = Result{PeakDeviceBytes: peak.Device, PeakDeviceUpperBytes: peak.High, NeededBytes: peak.Needed, Slower: peak.Slower, PeakStage: peak.Stage, PeakRank: peak.Rank,
		StateBytes: peak.State, HostBytes: peak.Host}
}

// EvaluateTime adds the time to what EvaluateMemory has filled in; exposed
// communication, for which the pipeline is simulated without transfers too, where
// the job limits it.
func (e *Evaluator) EvaluateTime(l *plan.Layout, x *plan.Execution, out *Result) {
	s := e.run(l, x)
	out.StepSeconds = s.total
	if e.job.Constraints.MaxExposedCommunication.Set {
		e.waits(l)
		out.ExposedCommunicationSeconds = s.once.exposed() + units.Seconds(l.MicroBatches)*e.exposedWorks(l)[s.busiest]
	}
}
