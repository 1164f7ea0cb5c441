package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// ExposedFloor returns a share of the step that exposed communication takes at
// least: the communication of passes is as in EvaluateTime; the step is taken as long
// as it can be, with every chunk as slow as the slowest and a pipeline that
// fills and drains once for every chunk of a rank. Of transfers in the pipeline,
// which are exposed by how much longer it takes with them, those count that make
// the busiest rank work longer than that without them.
func (e *Evaluator) ExposedFloor(l *plan.Layout, x *plan.Execution) units.Share {
	e.begin(l, x)
	s := &e.step
	times := units.Seconds(l.MicroBatches)
	transfers := max(0, times*s.work-slowest(l, e.withoutTransfers(l)))
	s.pipeline = slowest(l, &s.durations)
	total := e.complete(l, x).total
	exposed := s.once.exposed() + times*e.exposedWorks(l)[s.busiest] + transfers
	return units.Share(exposed / total * rounding)
}

// ExposedFloorOfLayers is ExposedFloor of all layouts that differ from l in how many layers of
// each chunk they recompute, from fewest to most. More of them make passes longer and repeat
// their communication, which is asked of the table: the step is taken as long as with the most,
// communication beside passes as what those leave of it, that of passes as with the fewest, on
// the rank of the least among those that may be the busiest. Transfers do not count.
func (e *Evaluator) ExposedFloorOfLayers(l *plan.Layout, x *plan.Execution, fewest, most int) units.Share {
	at, s := *l, &e.step
	at.RecomputeLayers = fewest
	e.begin(&at, x)
	if !s.table.grows() {
		return 0
	}
	e.exposedWorks(&at)
	work := s.work
	at.RecomputeLayers = most
	e.begin(&at, x)
	return e.leastExposed(&at, x, work)
}

// leastExposed is the floor of the exposed share of which s.exposed is what each rank exposes at
// least for a micro-batch, work what the busiest one works at least, and the rest of the step what
// the longest passes leave.
func (e *Evaluator) leastExposed(l *plan.Layout, x *plan.Execution, work units.Seconds) units.Share {
	s := &e.step
	least := units.Seconds(math.Inf(1))
	for r, t := range s.exposed {
		if s.works[r] >= work*rounding {
			least = min(least, t)
		}
	}
	s.pipeline = slowest(l, &s.durations)
	total := e.complete(l, x).total
	return units.Share((s.once.exposed() + units.Seconds(l.MicroBatches)*least) / total * rounding)
}

// PassRange is what the passes of layers take at least and at most under several recompute
// choices, of layouts that agree in mesh, micro-batch and schedule, with the same options. Its
// zero value is of none.
type PassRange struct {
	least, most layerTable
	any         bool
}

// Reset forgets all choices.
func (r *PassRange) Reset() { r.any = false }

// Widen adds the recompute choice of a layout to a range.
func (e *Evaluator) Widen(r *PassRange, l *plan.Layout, x *plan.Execution) {
	t := e.terms(l, x).table
	recomputed := l.Recompute != plan.RecomputeNone
	some := l.RecomputeMethod == "block" // layers of a chunk, others not
	if !r.any {
		least, most := r.least.layers, r.most.layers
		r.least, r.most = *t, *t
		r.least.layers, r.most.layers = append(least[:0], t.layers...), append(most[:0], t.layers...)
		for i := 0; i < len(t.layers) && recomputed && !some; i += 2 {
			r.least.layers[i], r.most.layers[i] = t.layers[i+1], t.layers[i+1]
		}
		r.any = true
	}
	for i := 0; i < len(t.layers); i += 2 {
		if !recomputed || some {
			r.least.layers[i].narrow(&t.layers[i])
			r.most.layers[i].exceed(&t.layers[i])
		}
		if recomputed {
			r.least.layers[i].narrow(&t.layers[i+1])
			r.most.layers[i].exceed(&t.layers[i+1])
		}
	}
	for _, p := range [...]struct{ least, most, this *pass }{
		{&r.least.embedding, &r.most.embedding, &t.embedding}, {&r.least.head, &r.most.head, &t.head}, {&r.least.mtp, &r.most.mtp, &t.mtp},
	} {
		p.least.narrow(p.this)
		p.most.exceed(p.this)
	}
}

// narrow makes a pass take no longer than another, in each part.
func (p *pass) narrow(o *pass) {
	inputs := min(p.backward-p.weight, o.backward-o.weight)
	p.forward, p.weight, p.host, p.exposed = min(p.forward, o.forward), min(p.weight, o.weight), min(p.host, o.host), min(p.exposed, o.exposed)
	p.backward = inputs + p.weight
}

// exceed makes a pass take no less than another, in each part.
func (p *pass) exceed(o *pass) {
	inputs := max(p.backward-p.weight, o.backward-o.weight)
	p.forward, p.weight, p.host, p.exposed = max(p.forward, o.forward), max(p.weight, o.weight), max(p.host, o.host), max(p.exposed, o.exposed)
	p.backward = inputs + p.weight
}

// ExposedFloorOfRange is ExposedFloor of all layouts of the pipeline of l with the options x and
// a recompute choice that a range has, as ExposedFloorOfLayers is of numbers of layers.
func (e *Evaluator) ExposedFloorOfRange(l *plan.Layout, x *plan.Execution, r *PassRange) units.Share {
	at, s := *l, &e.step
	at.Recompute = plan.RecomputeNone // the place of every layer in the range
	t := e.terms(l, x)
	t.table = &r.least
	e.beginWith(&at, x, &t)
	e.exposedWorks(&at)
	work := s.work
	t.table = &r.most
	e.beginWith(&at, x, &t)
	return e.leastExposed(&at, x, work)
}

// grows reports whether no layer is shorter, or has less exposed communication, for being recomputed.
func (t *layerTable) grows() bool {
	for i := 0; i < len(t.layers); i += 2 {
		p, again := &t.layers[i], &t.layers[i+1]
		if again.forward < p.forward || again.backward < p.backward || again.weight < p.weight || again.backward-again.weight < p.backward-p.weight ||
			again.host < p.host || again.exposed < p.exposed {
			return false
		}
	}
	return true
}

// slowest is a time that no pipeline of some durations exceeds.
func slowest(l *plan.Layout, d *schedule.Durations) units.Seconds {
	var f, b units.Seconds
	for c := range d.Forward {
		f, b = max(f, d.Forward[c]), max(b, d.Backward(c))
	}
	rounds := (l.MicroBatches + l.PipelineParallel) * l.VirtualPipeline
	return units.Seconds(rounds) * (f + b + 2*d.Transfer)
}
