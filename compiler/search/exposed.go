package search

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// exposes reports whether a floor of the exposed communication tells that the current
// layout fails its limit by more than anybody asks about.
func (w *worker) exposes() bool {
	if w.limits.exposed >= 1 || !w.asksExposed() {
		return false
	}
	missing := w.exposedFloor() - w.limits.exposed
	if missing <= 0 || missing <= w.exposedAsked() {
		return false
	}
	w.current.Layout, w.current.Execution, w.current.Result = w.layout, w.execution, estimate.Result{}
	w.current.broken, w.current.missing = IDExposed, missing // at least
	return true
}

// asksExposed reports whether a floor of the exposed communication may be asked before memory: its
// state may tell of all layouts of a pipeline, and of why nothing is feasible.
func (w *worker) asksExposed() bool { return w.stateKnown || w.exposedAsked() == 0 }

// exposedAsked is from which miss of the limit on exposed communication on nobody asks for the
// exact one: beyond those of the nearest and of what fails nothing else, or any once something
// is feasible. What is too slow by a floor fails more than this limit, and may be no nearest for that alone.
func (w *worker) exposedAsked() float64 {
	if w.fits || w.probing || len(w.mesh.best.list) > 0 && w.mesh.best.list[0].broken == "" {
		return 0
	}
	asked := math.Inf(1)
	for _, r := range [...]*ranking{&w.nearest, &w.mesh.nearest} {
		if n := len(r.list); n > 0 && n == r.most && r.list[n-1].shortage() == 0 {
			asked = min(asked, r.list[n-1].missing)
		}
	}
	switch {
	case w.late > asked:
		return 0
	case w.late > 0, w.limits.step == 0: // what is nearest fails nothing else
		return asked
	}
	least := math.Inf(1)
	for _, c := range [...]*Candidate{w.exposed, w.mesh.exposed} {
		if c != nil {
			least = min(least, c.missing)
		}
	}
	return max(asked, least)
}

// lateness is by what share floors of the current mesh exceed the limit on the step, by
// micro-batch and as misses are compared: zero where it may meet the limit, or nobody asks.
func (w *worker) lateness(sizes []int) {
	w.lates = append(w.lates[:0], make([]float64, len(sizes))...)
	if w.limits.step == 0 || w.limits.exposed >= 1 {
		return
	}
	floors := w.meshFloors
	for k, mbs := range sizes {
		if k == len(floors) { // there was nothing to beat
			floors = append(floors, w.meshFloor(mbs))
		}
		w.lates[k] = max(0, floors[k]/float64(w.limits.step)-1-beyondRounding)
	}
}

// beyondRounding is more than what rounding two times to nine digits takes off their quotient.
const beyondRounding = 2e-8

// exposedFloor is a share of exposed communication that the current layout
// cannot beat.
func (w *worker) exposedFloor() float64 {
	return w.exposedOf(w.evaluator.ExposedFloor(&w.layout, &w.execution))
}

// exposedOf is a floor of the exposed share, as shares are compared.
func (w *worker) exposedOf(floor units.Share) float64 {
	return units.RoundedTo(float64(floor)-beyondRounding, 1)
}

// variantsExpose reports whether the current layout, which exposes too much as it is, does so
// with every set of variants, too. Where memory is short they are tried, and what makes a step
// longer makes the share of its communication smaller.
func (w *worker) variantsExpose() bool {
	without := w.current
	defer func() { w.current, w.execution = without, without.Execution }()
	for i := range w.variants {
		if w.execution = without.Execution; w.with(&w.variants[i]) && !w.exposes() {
			return false
		}
	}
	return true
}

// fewLayers is how many numbers of recomputed layers are looked at one by one.
const fewLayers = 4

// chooseExposed looks at some numbers of recomputed layers under a limit on the exposed
// share: those together that a floor of it rules out.
func (w *worker) chooseExposed(r *layout.Recompute, first, last int) (v verdict) {
	look := w.visit
	if last-first >= fewLayers {
		if !w.allExpose(r, first, last) {
			middle := (first + last) / 2
			w.chooseExposed(r, first, middle)
			return w.chooseExposed(r, middle+1, last)
		}
		look = w.visitExposed
	}
	for n := first; n <= last; n++ {
		v = look(r, n)
	}
	return v
}

// allExpose reports whether exposes would tell of some numbers of recomputed layers that each
// fails with all options and variants.
func (w *worker) allExpose(r *layout.Recompute, first, last int) bool {
	if !w.asksExposed() {
		return false
	}
	asked := w.exposedAsked()
	exposes := func() bool {
		missing := w.exposedOf(w.evaluator.ExposedFloorOfLayers(&w.layout, &w.execution, first, last)) - w.limits.exposed
		return missing > 0 && missing > asked
	}
	for _, p := range w.options.all {
		r.Fill(&w.layout, last)
		w.resolve(p)
		execution := w.execution
		r.Fill(&w.layout, first)
		if w.resolve(p); w.execution != execution || !exposes() {
			return false
		}
		for i := range w.variants {
			if w.execution = execution; w.with(&w.variants[i]) && !exposes() {
				return false
			}
		}
	}
	return true
}

// visitExposed is visit of a layout of which is known that exposes tells.
func (w *worker) visitExposed(r *layout.Recompute, layers int) verdict {
	switch {
	case !w.legal(r, layers):
		return illegal
	case w.idle(&w.execution):
		w.mesh.counts.Pruned++
	default:
		w.mesh.counts.Rejected[IDExposed]++
	}
	return overLimit
}

// passRange is what the passes of layers take, with some options, under any recompute choice of
// the pipelines of the current mesh that agree in a micro-batch and a schedule. What options
// become does not depend on how layers are split (TestOptionsBySchedule).
type passRange struct {
	microBatch  int
	schedule    plan.Schedule
	interleaved bool
	recomputes  []layout.Recompute
	executions  []plan.Execution
	passes      []estimate.PassRange // by execution
}

// restExposes reports whether exposes would tell of a pipeline with every recompute choice from
// one on, each with all options and variants, and counts them if so.
func (w *worker) restExposes(p *layout.Pipeline, from int) bool {
	asked := w.exposedAsked()
	if math.IsInf(asked, 1) || len(w.space.Meshes[w.mesh.index].LesserStages) > 0 {
		return false
	}
	same := w.passRange(p)
	for i := range same.executions {
		missing := w.exposedOf(w.evaluator.ExposedFloorOfRange(&w.layout, &same.executions[i], &same.passes[i])) - w.limits.exposed
		if missing <= 0 || missing <= asked {
			return false
		}
	}
	for i := range p.Recomputes[from:] {
		leaves := p.Recomputes[from+i].Leaves()
		w.mesh.counts.Rejected[IDExposed] += leaves
		w.current.leaf += int(leaves)
	}
	return true
}

// passRange is the one of the current pipeline and micro-batch.
func (w *worker) passRange(p *layout.Pipeline) *passRange {
	interleaved := p.VirtualPipeline > 1
	for i := range w.ranges {
		r := &w.ranges[i]
		if r.microBatch == w.layout.MicroBatchSize && r.schedule == p.Schedule && r.interleaved == interleaved && slices.EqualFunc(r.recomputes, p.Recomputes, alike) {
			return r
		}
	}
	n := len(w.ranges)
	w.ranges = slices.Grow(w.ranges, 1)[:n+1]
	same := &w.ranges[n]
	same.microBatch, same.schedule, same.interleaved, same.recomputes = w.layout.MicroBatchSize, p.Schedule, interleaved, p.Recomputes
	same.executions = same.executions[:0]
	for i := range p.Recomputes {
		r := &p.Recomputes[i]
		w.widen(same, r, r.Layers)
		if r.Most > r.Layers {
			w.widen(same, r, r.Most)
		}
	}
	return same
}

// alike reports whether two recompute choices differ in how many layers they are over alone.
func alike(a, b layout.Recompute) bool {
	return a.Mode == b.Mode && a.Modules == b.Modules && a.Method == b.Method && (a.Most > a.Layers) == (b.Most > b.Layers)
}

// widen adds a recompute choice over some layers to a range, with all options and variants.
func (w *worker) widen(same *passRange, r *layout.Recompute, layers int) {
	r.Fill(&w.layout, layers)
	for _, p := range w.options.all {
		w.resolve(p)
		same.add(w)
		execution := w.execution
		for i := range w.variants {
			if w.execution = execution; w.with(&w.variants[i]) {
				same.add(w)
			}
		}
	}
}

// add adds the current layout and its options.
func (r *passRange) add(w *worker) {
	at := slices.Index(r.executions, w.execution)
	if at < 0 {
		at = len(r.executions)
		r.executions = append(r.executions, w.execution)
		if at == len(r.passes) {
			r.passes = append(r.passes, estimate.PassRange{})
		}
		r.passes[at].Reset()
	}
	w.evaluator.Widen(&r.passes[at], &w.layout, &w.execution)
}
