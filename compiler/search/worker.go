package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// worker searches meshes, one at a time, with an evaluator of its own.
type worker struct {
	*searcher
	evaluator *estimate.Evaluator
	variants  []variantSet // what may be tried for fit, one or several at once
	enough    []uint       // those that suffice for the current layout
	options   options

	mesh          *meshSearch
	layout        plan.Layout
	execution     plan.Execution
	facts         target.Facts
	current       Candidate   // the layout being looked at
	base          Candidate   // the same as it is without variants, with the options tried first
	other         Candidate   // the same with other options
	seen          []visited   // per number of layers of the recompute choice
	rangeLeaf     int         // before the first of them
	dominated     bool        // no layout with this recompute choice is faster than one that was feasible
	outgrown      []bool      // per recompute choice: larger micro-batches cannot fit
	stateTooLarge bool        // the state alone does not fit, with no variant
	stateKnown    bool        // the state of the pipeline at hand has been looked at
	probing       bool        // nothing is asked of layouts that do not fit
	late          float64     // see lateness, of the micro-batch at hand
	ranges        []passRange // of the mesh, as far as they were asked for
	bounds
}

// bounds are what is known of the mesh at hand before its layouts are looked at.
type bounds struct {
	lates      []float64 // by micro-batch, see lateness
	meshFloors []float64 // by micro-batch; empty while there is nothing to beat
	floors     []float64 // by pipeline and micro-batch, if meshFloors are known
	leaves     []int     // by pipeline, its first
	sorted     []int     // the pipelines in the order of their floors
}

func newWorker(s *searcher) *worker {
	w := &worker{searcher: s, evaluator: estimate.New(s.job, s.target), variants: variants(s.job, s.target), options: newOptions(s.job, s.target)}
	w.facts = target.Facts{Job: &w.options.trial, Layout: &w.layout, Exec: &w.execution, GPUs: s.job.Cluster.GPUs(),
		Parameters: program.New(&s.job.Model).ParametersTotal()}
	return w
}

// open checks the rules of a mesh and finds its floor for one micro-batch, by
// which the meshes are ordered.
func (w *worker) open(index int, out *meshSearch) {
	m := &w.space.Meshes[index]
	*out = meshSearch{index: index, floor: math.Inf(1), counts: Counts{Rejected: map[diag.ID]int64{}}}
	w.mesh = out
	w.layout = plan.Layout{}
	m.Fill(&w.layout)
	leaves := w.space.Leaves(m)
	out.counts.Enumerated = max(leaves, 1)
	switch id := w.meshFault(m, leaves); {
	case id == "":
		known := &w.known[index]
		if known.smallest == 0 {
			known.smallest = w.meshFloor(w.space.MicroBatchSizes(m)[0])
		}
		out.floor = known.smallest
	case len(m.LesserStages) > 0: // told of those
		out.counts.Pruned = out.counts.Enumerated
	default:
		out.counts.Rejected[id] = out.counts.Enumerated
		out.illegal = &Candidate{Layout: w.layout, mesh: index, broken: id}
	}
}

// meshFloor is a cost that the current mesh cannot beat with a micro-batch.
func (w *worker) meshFloor(mbs int) float64 {
	w.micro(mbs)
	return w.least(w.evaluator.MeshFloor)
}

// leastFloor is a cost that a mesh cannot beat with any micro-batch.
func (w *worker) leastFloor(index int) float64 {
	known := &w.known[index]
	if known.any == 0 {
		m := &w.space.Meshes[index]
		w.layout = plan.Layout{}
		m.Fill(&w.layout)
		known.any = math.Inf(1)
		for _, mbs := range w.space.MicroBatchSizes(m) {
			known.any = min(known.any, w.meshFloor(mbs))
		}
	}
	return known.any
}

// meshBeaten reports whether no layout of the current mesh can be kept.
func (w *worker) meshBeaten(sizes []int) bool {
	w.meshFloors = w.meshFloors[:0]
	if math.IsInf(w.threshold, 1) {
		return false
	}
	limit, known := max(w.threshold, w.bound), &w.known[w.mesh.index]
	if known.any > limit {
		return true
	}
	for _, mbs := range sizes {
		w.meshFloors = append(w.meshFloors, w.meshFloor(mbs))
	}
	known.any = slices.Min(w.meshFloors)
	return known.any > limit
}

// meshFault names what forbids every layout of the current mesh, or "".
func (w *worker) meshFault(m *layout.Mesh, leaves int64) diag.ID {
	switch {
	case leaves == 0 && len(w.space.MicroBatchSizes(m)) == 0:
		return IDBatchNotDivisible
	case leaves == 0:
		return IDLayersNotDivisible
	}
	for i := range w.target.Rules {
		if r := &w.target.Rules[i]; r.Mesh && r.Breaks(&w.facts) {
			return r.ID
		}
	}
	if w.limits.leavesDomain(w.target, &w.layout, w.facts.GPUs) {
		return IDLeavesNVLink
	}
	return ""
}

// micro sets the micro-batch.
func (w *worker) micro(mbs int) {
	w.layout.MicroBatchSize = mbs
	w.layout.MicroBatches = w.job.Training.GlobalBatchSize / w.layout.DataParallel() / mbs
}

// search looks at all layouts of a mesh that open found legal.
func (w *worker) search(s *meshSearch) {
	if math.IsInf(s.floor, 1) {
		return
	}
	w.mesh = s
	s.ties.less = better(w.job.Constraints.Objective)
	s.best = ranking{less: better(w.job.Constraints.Objective), most: w.best.most}
	s.nearest = ranking{less: nearer, most: 1} // of every mesh one, so that those shown differ
	m := &w.space.Meshes[s.index]
	w.layout = plan.Layout{}
	m.Fill(&w.layout)
	w.ranges = w.ranges[:0]
	sizes := w.space.MicroBatchSizes(m)
	if w.meshBeaten(sizes) {
		s.counts.Pruned = s.counts.Enumerated
		return
	}
	w.lateness(sizes)
	w.current.mesh = s.index
	pipelines := w.space.Pipelines(m)
	for _, i := range w.order(m, pipelines) {
		w.pipeline(m, i, &pipelines[i])
	}
}

// order lists the pipelines of a mesh and their first leaves. Once there is
// something to beat, they are sorted by their floor over all micro-batches, so
// that good ones are seen first; before that floors would not pay.
func (w *worker) order(m *layout.Mesh, pipelines []layout.Pipeline) []int {
	w.floors, w.leaves, w.sorted = w.floors[:0], w.leaves[:0], w.sorted[:0]
	sizes := w.space.MicroBatchSizes(m)
	leaf := 0
	for i := range pipelines {
		w.leaves, w.sorted = append(w.leaves, leaf), append(w.sorted, i)
		leaf += int(pipelines[i].Leaves()) * len(sizes)
	}
	if len(w.meshFloors) == 0 {
		return w.sorted
	}
	w.floors = append(w.floors, make([]float64, len(pipelines)*len(sizes))...)
	for k, mbs := range sizes {
		w.micro(mbs)
		for i := range pipelines {
			floor := math.Inf(1)
			if w.meshFloors[k] <= max(w.threshold, w.bound) {
				pipelines[i].Fill(&w.layout)
				floor = w.floor(&layout.Recompute{}, 0)
			}
			w.floors[i*len(sizes)+k] = floor
		}
	}
	least := func(i int) float64 { return slices.Min(w.floors[i*len(sizes) : (i+1)*len(sizes)]) }
	slices.SortStableFunc(w.sorted, func(a, b int) int { return cmp.Compare(least(a), least(b)) })
	return w.sorted
}

// beaten reports whether the current pipeline and micro-batch with a recompute
// choice cannot be kept, whatever they need.
func (w *worker) beaten(r *layout.Recompute, layers int) bool {
	limit := w.limit()
	return !math.IsInf(limit, 1) && w.floor(r, layers) > limit
}

// beatenWhole is beaten without recompute, and so with any; at is the place of
// the pipeline and micro-batch among the floors, if they are known.
func (w *worker) beatenWhole(at int) bool {
	if at < len(w.floors) {
		return w.floors[at] > w.limit()
	}
	return w.beaten(&layout.Recompute{}, 0)
}

// floor is a cost that the current pipeline and micro-batch cannot beat with a
// recompute choice.
func (w *worker) floor(r *layout.Recompute, layers int) float64 {
	r.Fill(&w.layout, layers)
	return w.least(w.evaluator.Floor)
}

// least is the cost of a floor of the current layout with the options that make
// it least.
func (w *worker) least(floor func(*plan.Layout, *plan.Execution) units.Seconds) float64 {
	least := units.Seconds(math.Inf(1))
	for _, p := range w.options.floors {
		w.resolve(p)
		least = min(least, floor(&w.layout, &w.execution))
	}
	return costOf(least)
}

// limit is the cost above which nothing is kept: neither among the best nor, what
// is dominated, as a tie of the fastest.
func (w *worker) limit() float64 {
	if w.dominated {
		return w.reach()
	}
	return max(w.reach(), min(w.threshold, w.limits.threshold(&w.mesh.best)))
}

// pipeline looks at all micro-batches and recompute choices of a pipeline,
// micro-batches ascending.
func (w *worker) pipeline(m *layout.Mesh, index int, p *layout.Pipeline) {
	p.Fill(&w.layout)
	w.stateKnown = false
	w.current.leaf = w.leaves[index]
	w.outgrown = append(w.outgrown[:0], make([]bool, len(p.Recomputes))...)
	sizes := w.space.MicroBatchSizes(m)
	for k, mbs := range sizes {
		w.micro(mbs)
		w.dominated, w.late = false, w.lates[k]
		if w.allInFlight() {
			clear(w.outgrown)
		}
		if w.beatenWhole(index*len(sizes) + k) {
			w.prune(p.Leaves())
			continue
		}
		var fit fits
		asked := w.limits.exposed >= 1
		for i := range p.Recomputes {
			r := &p.Recomputes[i]
			if !asked && w.asksExposed() {
				if asked = true; w.restExposes(p, i) {
					break
				}
			}
			w.dominated = fit.dominates(r)
			if w.outgrown[i] || r.Mode != plan.RecomputeNone && w.beaten(r, r.Layers) {
				w.prune(r.Leaves())
				continue
			}
			v, dominates := w.choose(r)
			w.outgrown[i] = v == outOfMemory
			if w.stateTooLarge && v == outOfMemory {
				w.misses(p, i+1, sizes[k+1:])
				return
			}
			if dominates {
				fit.add(r)
			}
		}
	}
}

// allInFlight reports whether all micro-batches of the current layout may be in flight at once, so
// that it may need less memory than one of more and smaller micro-batches: gradients of an embedding
// come into being when no activations are left.
func (w *worker) allInFlight() bool {
	return w.layout.PipelineParallel > 1 && w.layout.MicroBatches <= w.layout.PipelineParallel || w.beforeGradients()
}

// beforeGradients reports whether all micro-batches of the current layout may be in flight before
// there are gradients.
func (w *worker) beforeGradients() bool {
	return w.target.Runtime.Sharding.MakesGradients && w.layout.MicroBatches <= w.layout.PipelineParallel
}

// spacious reports whether the current layout leaves so much memory that its
// steps do not slow, so that another one that needs less is not faster for that.
func (w *worker) spacious() bool { return w.current.Result.Slower == 0 }

// misses looks for the nearest miss of a pipeline whose state alone does not fit, from a recompute
// choice on: full ones over the most layers, and larger micro-batches where they may need less.
func (w *worker) misses(p *layout.Pipeline, from int, larger []int) {
	for {
		for i := from; i < len(p.Recomputes); i++ {
			r := &p.Recomputes[i]
			if r.Mode != plan.RecomputeFull && i < len(p.Recomputes)-1 { // keeps more
				w.prune(r.Leaves())
				continue
			}
			w.prune(r.Leaves() - 1)
			switch {
			case !w.legal(r, max(r.Layers, r.Most)):
			case w.idle(&w.execution):
				w.mesh.counts.Pruned++
			default: // no variant frees enough
				w.predict()
				w.mesh.counts.Rejected[w.current.broken]++
				w.miss(&w.current)
			}
		}
		for from = 0; len(larger) > 0; larger = larger[1:] {
			if w.micro(larger[0]); w.beforeGradients() {
				break
			}
			w.prune(p.Leaves())
		}
		if len(larger) == 0 {
			return
		}
		larger = larger[1:]
	}
}

func (w *worker) prune(leaves int64) {
	w.mesh.counts.Pruned += leaves
	w.current.leaf += int(leaves)
}

// verdict is what became of one layout.
type verdict uint8

const (
	unseen verdict = iota
	illegal
	outOfMemory
	overLimit
	feasible
)

// visit checks and evaluates the current layout with a recompute choice over
// some layers, first with the recommended execution options, then with the
// target's variants while memory is short.
func (w *worker) visit(r *layout.Recompute, layers int) verdict {
	if !w.legal(r, layers) {
		return illegal
	}
	v := w.fit(&w.base)
	if v == feasible {
		w.consider()
	}
	w.miss(&w.base)
	v = w.optimise(v)
	if w.idle(&w.current.Execution) {
		w.mesh.counts.Pruned++
		return v
	}
	if v == feasible {
		w.keep()
		return v
	}
	w.mesh.counts.Rejected[w.base.broken]++
	return v
}

// miss keeps the current layout with some options where it misses a limit. What memory is short of
// is told of as it is without variants, which may not suit the user.
func (w *worker) miss(c *Candidate) {
	known := c.broken != IDExposed || c.Result.StepSeconds > 0 // else nobody asks for it
	if c.broken != "" && known && !w.idle(&c.Execution) {
		w.mesh.nearest.add(c)
	}
}

// legal goes to the next layout, with a recompute choice over some layers, and reports whether
// it breaks no rule.
func (w *worker) legal(r *layout.Recompute, layers int) bool {
	r.Fill(&w.layout, layers)
	w.current.leaf++
	w.recommend()
	id := w.brokenRule()
	if id == "" || w.legalise() {
		return true
	}
	w.reject(id)
	return false
}

// keep ranks the current layout. One that is too slow is ranked too: the
// fastest of all decides whether any meets the limit.
func (w *worker) keep() {
	outranked := w.outranked()
	switch {
	case outranked && w.limits.step > 0: // whether it meets that limit nobody asked
		w.mesh.counts.Pruned++
	case w.current.broken == "":
		w.mesh.counts.Evaluated++
	default:
		w.mesh.counts.Rejected[w.current.broken]++
	}
	if !outranked && !w.dominated {
		w.mesh.best.add(&w.current)
	}
}

// outranked reports whether the memory of the current layout alone keeps it
// from being ranked, so that nobody asks for its time.
func (w *worker) outranked() bool {
	return w.current.Result.PeakDeviceBytes > min(w.most, w.limits.most(&w.mesh.best))
}

func (w *worker) reject(id diag.ID) {
	if m := &w.space.Meshes[w.mesh.index]; len(m.LesserStages) > 0 {
		w.mesh.counts.Pruned++
		return
	}
	w.mesh.counts.Rejected[id]++
	if w.mesh.illegal == nil {
		w.mesh.illegal = &Candidate{Layout: w.layout, Execution: w.execution, mesh: w.current.mesh, leaf: w.current.leaf, broken: id}
	}
}

// evaluate predicts the current layout and holds it against the limits; the
// time only if the memory suffices, and neither if the communication is exposed
// for too long however slow the rest may be.
func (w *worker) evaluate() verdict {
	if w.exposes() {
		return overLimit
	}
	return w.predict()
}

// predict is evaluate where no floor tells.
func (w *worker) predict() verdict {
	c := &w.current
	c.Layout, c.Execution = w.layout, w.execution
	w.memory(&c.Result)
	w.stateKnown = true
	if c.broken, c.missing = w.limits.checkMemory(&c.Result); c.broken != "" {
		if least := &w.mesh.host; c.broken == IDHostMemory && !w.probing && (*least == 0 || c.Result.HostBytes < *least) {
			*least = c.Result.HostBytes
		}
		return outOfMemory
	}
	if w.outranked() {
		return feasible
	}
	w.time(c)
	if c.broken, c.missing = w.limits.checkExposed(&c.Result); c.broken != "" {
		switch slow, missing := w.limits.checkStep(&c.Result); {
		case missing > c.missing:
			c.broken, c.missing = slow, missing
		case slow == "" && !w.probing && !w.idle(&c.Execution) && (w.mesh.exposed == nil || w.exposesLess(c, w.mesh.exposed)):
			least := *c
			w.mesh.exposed = &least
		}
		return overLimit
	}
	if c.broken, c.missing = w.limits.checkStep(&c.Result); c.broken != "" && !w.limits.fastest {
		return overLimit
	}
	return feasible
}

// memory predicts the memory of the current layout, as far as anybody asks: of one
// that does not fit no more than whether it is the nearest, and nothing once another
// one fits. Where options are compared by what is short, all of it.
func (w *worker) memory(r *estimate.Result) {
	most := units.Bytes(math.MaxInt64)
	if nearest := w.mesh.nearest.list; w.probing {
		most = w.limits.usable
	} else if !w.options.listed && (w.fits || len(nearest) > 0) {
		most = w.limits.usable
		if !w.fits && nearest[0].shortage() == 2 {
			most = nearest[0].Result.NeededBytes
		}
	}
	w.evaluator.EvaluateMemoryUpTo(&w.layout, &w.execution, most, r)
}

// time predicts the time of a candidate, rounded as it is compared and told.
func (w *worker) time(c *Candidate) {
	r := &c.Result
	w.evaluator.EvaluateTime(&c.Layout, &c.Execution, r)
	r.StepSeconds = units.Rounded(r.StepSeconds)
	r.ExposedCommunicationSeconds = units.RoundedTo(r.ExposedCommunicationSeconds, r.StepSeconds)
}
