package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// step is one evaluation in progress. Its slices are scratch space.
type step struct {
	table       *layerTable
	amax        *pass         // at the end of every chunk
	hostChunk   units.Seconds // that the host adds to the forward of a chunk
	late        pass          // scratch: what a chunk waits for the host
	g           *groups
	shape       schedule.Shape
	durations   schedule.Durations
	weights     []units.Seconds    // its weight gradients, where the schedule splits backward passes
	elements    []program.Elements // per pipeline rank
	first       program.Elements   // of the first chunk
	counts      []int32            // layers of one chunk, indexed as layerTable.layers
	transfer    units.Seconds      // a pipeline transfer
	blocking    bool               // the sender waits for it
	busiest     int                // pipeline rank with the most work
	works       []units.Seconds    // of every rank, per micro-batch
	work        units.Seconds      // of the busiest one
	exposed     []units.Seconds    // scratch: the exposed communication of every rank, per micro-batch
	pipeline    units.Seconds      // all micro-batches
	unhindered  schedule.Durations // scratch: the durations without the transfers that senders wait for
	once        costs              // what comes once per step, straggler included; the idle time of the pipeline once waits has told it apart
	collectives collectives        // of the collectives that come once per step
	total       units.Seconds
}

// run evaluates the time of a layout into e.step.
func (e *Evaluator) run(l *plan.Layout, x *plan.Execution) *step {
	e.begin(l, x)
	e.step.pipeline = e.pipelineSeconds(&e.step.durations)
	return e.complete(l, x)
}

// begin makes what the pipeline is made of.
func (e *Evaluator) begin(l *plan.Layout, x *plan.Execution) {
	t := e.terms(l, x)
	e.beginWith(l, x, &t)
}

// beginWith is begin with the terms of the layout, or others in their place.
func (e *Evaluator) beginWith(l *plan.Layout, x *plan.Execution, t *terms) {
	s := &e.step
	s.once, s.collectives = costs{}, collectives{}
	s.g, s.table, s.amax = t.groups, t.table, t.amax
	s.hostChunk = e.chunkOverhead(l, x)
	s.shape = schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches}
	e.stages(l)
}

// complete adds what comes once per step to s.pipeline.
func (e *Evaluator) complete(l *plan.Layout, x *plan.Execution) *step {
	s := &e.step
	e.gradients(l, x)
	e.optimizer(l, x)
	e.small(l)
	if e.factors != nil {
		e.factors.once(s)
	}
	e.hostOnce(l, x)
	s.once[lineStraggler] = (e.straggler * units.Ratio(math.Log(float64(l.GPUs())))).Of(s.pipeline)
	s.total = s.pipeline + s.once.sum()
	return s
}

// waits tells apart by its cause what the busiest rank waits for in a pipeline.
// Its bubble is what it would be if transfers took no time; by how much longer
// the pipeline takes is the transfers': the rank's own, and those between other
// ranks that its inputs came through. It returns the work of the rank for one
// micro-batch, without transfers.
func (e *Evaluator) waits(l *plan.Layout) (work units.Seconds) {
	s := &e.step
	work = s.work
	free := s.pipeline
	if s.transfer > 0 {
		d := e.withoutTransfers(l)
		free = min(free, e.pipelineSeconds(d))
		if s.blocking {
			work = 0
			place := schedule.PlacementOf(l.PipelineSchedule)
			for c := range d.Forward {
				if place.Rank(c, l.PipelineParallel) == s.busiest {
					work += d.Forward[c] + d.Backward(c)
				}
			}
		}
	}
	s.once[lineBubble] = free - units.Seconds(l.MicroBatches)*work
	s.once[linePipeline] = s.pipeline - free
	return work
}

// withoutTransfers is the durations of the chunks if transfers took no time.
func (e *Evaluator) withoutTransfers(l *plan.Layout) *schedule.Durations {
	s := &e.step
	var blocked units.Seconds // in the durations of a chunk
	if s.blocking {
		blocked = s.transfer
	}
	d, last := &s.unhindered, l.Chunks()-1
	d.Forward, d.InputGradient = grow(d.Forward, last+1), grow(d.InputGradient, last+1)
	for c := range d.Forward {
		d.Forward[c], d.InputGradient[c] = s.durations.Forward[c], s.durations.InputGradient[c]
		if c != last {
			d.Forward[c] -= blocked
		}
		if c != 0 {
			d.InputGradient[c] -= blocked
		}
	}
	d.WeightGradient, d.Together = s.durations.WeightGradient, s.durations.Together
	return d
}

// hostOnce adds what the host does once per step: nothing where a graph of the
// whole step runs while it prepares the next.
func (e *Evaluator) hostOnce(l *plan.Layout, x *plan.Execution) {
	var t units.Seconds
	if x.CUDAGraphs != "full" {
		t = e.hostStep
	}
	if l.PipelineParallel > 1 {
		t += 2 * e.hostBetween(x)
	}
	if e.factors != nil {
		t = e.factors[uncertainty.Host].Of(t)
	}
	e.step.once[lineHost] += t
}

// hostBetween is what the host adds between two micro-batches, when it fetches
// and checks: nothing where a graph of the whole step runs meanwhile. Other
// stages of a pipeline run on, so that there it shows at its two ends alone.
func (e *Evaluator) hostBetween(x *plan.Execution) units.Seconds {
	if x.CUDAGraphs == "full" {
		return 0
	}
	return e.hostMicroBatch
}

// stages adds up the chunks: durations, work and elements, and the busiest
// rank.
func (e *Evaluator) stages(l *plan.Layout) {
	s := &e.step
	chunks, p := l.Chunks(), l.PipelineParallel
	s.durations.Forward = grow(s.durations.Forward, chunks)
	s.durations.InputGradient = grow(s.durations.InputGradient, chunks)
	split, place := schedule.Splits(l.PipelineSchedule), schedule.PlacementOf(l.PipelineSchedule)
	s.durations.WeightGradient = nil
	if split {
		s.weights = grow(s.weights, chunks)
		s.durations.WeightGradient = s.weights
	}
	s.elements, s.works = grow(s.elements, p), grow(s.works, p)
	clear(s.elements)
	clear(s.works)
	e.transfers(l)
	var forward, backward, weight units.Seconds
	var n program.Elements
	first, next := 0, 0
	inputs, outputs := s.durations.Forward[:len(l.StageLayers)], s.durations.InputGradient[:len(l.StageLayers)]
	before := -1
	for c, layers := range l.StageLayers {
		if c < 2 || c == chunks-1 || layers != before || !e.alike(first-layers, first+layers) {
			e.compose(l, first, first+layers)
			forward, backward, weight, n = e.chunk(l, c)
		}
		before = layers
		inputs[c], outputs[c] = forward, backward
		if split {
			outputs[c], s.weights[c] = backward-weight, weight
		}
		if c == 0 {
			s.first = n
		}
		rank := next
		if next++; next == p {
			next = 0
		}
		if place != schedule.Loop {
			rank = place.Rank(c, p)
		}
		here := &s.elements[rank]
		here.Dense += n.Dense
		here.Expert += n.Expert
		here.Replicated += n.Replicated
		s.works[rank] += forward + backward
		first += layers
	}
	s.busiest, s.work = 0, 0
	for r, t := range s.works {
		if t > s.work && units.Rounded(t) > units.Rounded(s.work) { // of equal ranks the first
			s.busiest, s.work = r, t
		}
	}
}

// transfers times the hand-over between neighbouring stages.
func (e *Evaluator) transfers(l *plan.Layout) {
	s := &e.step
	s.transfer, s.blocking, s.durations.Transfer = 0, false, 0
	if l.PipelineParallel == 1 {
		return
	}
	s.transfer = s.g.pipeline.PointToPoint(s.table.transfer)
	if e.scatters(l) {
		s.transfer += s.g.tensor.AllGather(s.table.transfer * units.Bytes(l.TensorParallel))
	}
	if e.factors != nil {
		s.transfer = e.factors.of(linePipeline, s.g).Of(s.transfer)
	}
	p := &e.runtime.Pipeline
	s.blocking = p.Blocking
	if l.VirtualPipeline > 1 {
		s.blocking = p.BlockingInterleaved
	}
	if !s.blocking {
		s.durations.Transfer = s.transfer
	}
}

// scatters reports whether every rank of a tensor group sends its part of an
// activation that all hold, and the receivers gather it again; under sequence
// parallelism activations are parts already.
func (e *Evaluator) scatters(l *plan.Layout) bool {
	return e.runtime.Pipeline.ScattersActivations && !l.SequenceParallel
}

// compose counts the layers [first, end) of a chunk by kind, precision and
// recompute into s.counts.
func (e *Evaluator) compose(l *plan.Layout, first, end int) {
	recomputed := end
	switch {
	case l.Recompute == plan.RecomputeNone:
		recomputed = first
	case l.Recompute == plan.RecomputeFull && l.RecomputeMethod == "block":
		recomputed = min(first+l.RecomputeLayers, end)
	}
	for i := range e.layerGroups {
		r := &e.layerGroups[i]
		e.step.counts[r.at] = r.before[end] - r.before[recomputed]
		e.step.counts[r.at+1] = r.before[recomputed] - r.before[first]
	}
}

// layerGroup is a kind of layer in one precision.
type layerGroup struct {
	at     int     // its place in layerTable.layers, without recompute
	before []int32 // how many layers below a decoder layer have it
}

// newLayerGroups counts the layers of every layer group that has any.
func (e *Evaluator) newLayerGroups() {
	e.layerGroups = nil
	for at := 0; at < 4*len(e.arch.Kinds()); at += 2 {
		r := layerGroup{at: at, before: make([]int32, e.model.Layers+1)}
		for i := range e.model.Layers {
			r.before[i+1] = r.before[i]
			if e.layerGroupOf(i) == at {
				r.before[i+1]++
			}
		}
		if r.before[e.model.Layers] > 0 {
			e.layerGroups = append(e.layerGroups, r)
		}
	}
	e.step.counts = make([]int32, 4*len(e.arch.Kinds()))
	e.same = make([]int, e.model.Layers)
	for i := range e.model.Layers {
		if i > 0 && e.layerGroupOf(i) == e.layerGroupOf(i-1) {
			e.same[i] = e.same[i-1]
		} else {
			e.same[i] = i
		}
	}
}

// alike reports whether the layers [first, end) have one layer group. Two inner
// chunks that share them evenly take the same time.
func (e *Evaluator) alike(first, end int) bool {
	return first == end || e.same[end-1] <= first
}

// layerGroupOf is the place of a decoder layer without recompute in
// layerTable.layers: the first and the last layers may run in 16 bits.
func (e *Evaluator) layerGroupOf(layer int) int {
	r, at := e.job.Training.FP8, 4*e.arch.KindOf(layer)
	if e.quantised != e.base && (layer < r.BF16FirstLayers || layer >= e.model.Layers-r.BF16LastLayers) {
		at += 2
	}
	return at
}

// chunk sums the composed chunk c; weight is part of backward.
func (e *Evaluator) chunk(l *plan.Layout, c int) (forward, backward, weight units.Seconds, n program.Elements) {
	s := &e.step
	var host units.Seconds
	add := func(times int, p *pass) {
		host += units.Seconds(times) * p.host
		forward += units.Seconds(times) * p.forward
		backward += units.Seconds(times) * p.backward
		weight += units.Seconds(times) * p.weight
		n = n.Add(p.elements.Times(times))
	}
	for i, times := range s.counts {
		if times > 0 {
			add(int(times), &s.table.layers[i])
		}
	}
	if s.amax != &unscaled {
		add(1, s.amax)
	}
	last := l.Chunks() - 1
	if c == 0 {
		add(1, &s.table.embedding)
	}
	if c == last {
		add(1, &s.table.head)
		add(e.model.MTP.Layers, &s.table.mtp)
	}
	forward += e.lateness(host, forward)
	if s.blocking && c != last {
		forward += s.transfer
	}
	if s.blocking && c != 0 {
		backward += s.transfer
	}
	return forward, backward, weight, n
}

// each calls f for everything that one micro-batch runs on a pipeline rank,
// with how often.
func (e *Evaluator) each(l *plan.Layout, rank int, f func(times int, p *pass)) {
	s := &e.step
	first, last := 0, l.Chunks()-1
	place := schedule.PlacementOf(l.PipelineSchedule)
	for c, n := range l.StageLayers {
		if place.Rank(c, l.PipelineParallel) == rank {
			e.compose(l, first, first+n)
			var host, forward units.Seconds
			add := func(times int, p *pass) {
				host += units.Seconds(times) * p.host
				forward += units.Seconds(times) * p.forward
				f(times, p)
			}
			for i, times := range s.counts {
				if times > 0 {
					add(int(times), &s.table.layers[i])
				}
			}
			add(1, s.amax)
			if c == 0 {
				add(1, &s.table.embedding)
			}
			if c == last {
				add(1, &s.table.head)
				add(e.model.MTP.Layers, &s.table.mtp)
			}
			if t := e.lateness(host, forward); t > 0 {
				s.late.forward, s.late.lines[lineHost] = t, t
				f(1, &s.late)
			}
		}
		first += n
	}
}

// boundaries counts the pipeline transfers of one micro-batch from a rank:
// forward to the next chunk, backward to the one before, where that is on
// another rank.
func boundaries(l *plan.Layout, rank int) int {
	place, p, n := schedule.PlacementOf(l.PipelineSchedule), l.PipelineParallel, 0
	for i := range l.VirtualPipeline {
		c := place.Chunk(rank, i, p)
		if c != 0 && place.Rank(c-1, p) != rank {
			n++
		}
		if c != l.Chunks()-1 && place.Rank(c+1, p) != rank {
			n++
		}
	}
	return n
}

// rankLines is the breakdown and the traffic of one micro-batch on a pipeline
// rank; what it waits for other ranks is not part of it.
func (e *Evaluator) rankLines(l *plan.Layout, rank int) (c costs, t collectives) {
	s := &e.step
	e.each(l, rank, func(times int, p *pass) {
		c.add(units.Seconds(times), &p.lines)
		t.add(times, &p.collectives)
	})
	if l.PipelineParallel > 1 {
		n := boundaries(l, rank)
		t[collectivePipeline] = traffic{bytes: units.Bytes(n) * s.table.transfer, seconds: units.Seconds(n) * s.transfer, calls: n}
	}
	return c, t
}

// exposedWorks is the communication that every pipeline rank exposes in its passes of one
// micro-batch.
func (e *Evaluator) exposedWorks(l *plan.Layout) []units.Seconds {
	s := &e.step
	s.exposed = grow(s.exposed, l.PipelineParallel)
	clear(s.exposed)
	var t units.Seconds
	first, before, last := 0, -1, l.Chunks()-1
	place := schedule.PlacementOf(l.PipelineSchedule)
	for c, layers := range l.StageLayers {
		if c < 2 || c == last || layers != before || !e.alike(first-layers, first+layers) {
			e.compose(l, first, first+layers)
			t = e.exposedChunk(c == 0, c == last)
		}
		before = layers
		s.exposed[place.Rank(c, l.PipelineParallel)] += t
		first += layers
	}
	return s.exposed
}

// exposedChunk is what the composed chunk exposes, which may be the first and the last.
func (e *Evaluator) exposedChunk(first, last bool) units.Seconds {
	s := &e.step
	t := s.amax.exposed
	for i, times := range s.counts {
		if times > 0 {
			t += units.Seconds(times) * s.table.layers[i].exposed
		}
	}
	if first {
		t += s.table.embedding.exposed
	}
	if last {
		t += s.table.head.exposed + units.Seconds(e.model.MTP.Layers)*s.table.mtp.exposed
	}
	return t
}

// grow returns a slice of length n, on the old memory if it suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
