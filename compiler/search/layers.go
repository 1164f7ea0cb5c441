package search

import (
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// choose looks at a recompute choice. Over a number of layers of each chunk it
// looks for the smallest that fits: more layers take longer, and fewer do not
// fit. For the least memory the largest number decides that is fast enough. Either is
// looked for among those that fit with the same options. A limit on the exposed
// share may admit any, so all are looked at. It also reports whether one is at least as fast as
// whatever recomputes more (prune.go).
func (w *worker) choose(r *layout.Recompute) (last verdict, dominates bool) {
	if r.Most == 0 {
		last = w.visit(r, r.Layers)
		return last, w.limits.exposed >= 1 && w.dominates(&visited{verdict: last, crowded: !w.spacious(), needsVariant: w.needsVariant()})
	}
	if w.limits.exposed < 1 {
		first := r.Layers
		if !w.asksExposed() {
			last = w.visit(r, first)
			first++
		}
		if first <= r.Most {
			last = w.chooseExposed(r, first, r.Most)
		}
		return last, false
	}
	w.rangeLeaf = w.current.leaf
	defer func() { w.current.leaf = w.rangeLeaf + int(r.Leaves()) }()
	w.seen = append(w.seen[:0], make([]visited, r.Most+1)...)
	last = w.at(r, r.Most).verdict
	switch {
	case last == feasible && w.limits.fastest:
		fewest := w.fewest(r, r.Most, func(v *visited) bool { return v.runs() && !v.needsVariant })
		varied := fewest // from which number on it runs with a variant
		if fewest > r.Layers && len(w.variants) > 0 {
			varied = w.fewest(r, fewest, (*visited).runs)
			w.changes(r, varied, fewest)
		}
		dominates = w.further(r, fewest)
		w.spare(r, varied, fewest)
	case last == overLimit, last == feasible && !w.limits.fastest && len(w.variants) > 0 && w.at(r, r.Layers).variant():
		// It takes too long for the least memory, or fewer need less for the variant that they need.
		w.changes(r, w.fewest(r, r.Most, (*visited).runs), r.Most)
		w.slowest(r)
	}
	for i := r.Layers; i <= r.Most; i++ {
		if w.seen[i].verdict == unseen {
			w.mesh.counts.Pruned++
		}
	}
	return last, dominates
}

// visited is what became of a number of recomputed layers.
type visited struct {
	verdict      verdict
	crowded      bool // it may slow for want of memory, so that more layers may be faster
	needsVariant bool
	execution    plan.Execution // the best, where it runs
}

// runs reports whether memory suffices with some options.
func (v *visited) runs() bool { return v.verdict >= overLimit }

// variant reports whether memory does not suffice without a variant.
func (v *visited) variant() bool { return v.verdict == outOfMemory || v.needsVariant }

// at visits a number of recomputed layers, once.
func (w *worker) at(r *layout.Recompute, layers int) *visited {
	at := &w.seen[layers]
	if at.verdict == unseen {
		w.current.leaf = w.rangeLeaf + layers - r.Layers
		v := w.visit(r, layers)
		*at = visited{verdict: v, crowded: !w.spacious(), needsVariant: w.needsVariant(), execution: w.current.Execution}
	}
	return at
}

// fewest is the least number of recomputed layers, at most another one that does, that suffices.
func (w *worker) fewest(r *layout.Recompute, most int, suffices func(*visited) bool) int {
	low, high := r.Layers, most
	for low < high {
		if middle := (low + high) / 2; suffices(w.at(r, middle)) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return high
}

// changes looks for the fewest layers with each of the options that are best for some
// number between two: more layers may need fewer variants. Those that may slow for
// want of memory are looked at one by one.
func (w *worker) changes(r *layout.Recompute, low, high int) {
	for low < high && w.at(r, low).crowded {
		low++
	}
	if high-low < 2 || w.at(r, low).execution == w.at(r, high).execution {
		return
	}
	middle := (low + high) / 2
	w.at(r, middle)
	w.changes(r, low, middle)
	w.changes(r, middle, high)
}

// slowest looks, from each number of layers that changes found fast enough, for the most that
// still are with the same options.
func (w *worker) slowest(r *layout.Recompute) {
	for n := r.Layers; n < r.Most; n++ {
		from := w.seen[n]
		if from.verdict != feasible {
			continue
		}
		low, high := n, r.Most-1
		for low < high {
			middle := (low + high + 1) / 2
			if v := w.at(r, middle); v.verdict == feasible && v.execution == from.execution {
				low = middle
			} else {
				high = middle - 1
			}
		}
		n = low
	}
}

// further looks at more layers than the fewest that fit, which may leave more
// memory to spare in as much time, or memory for an option. It reports whether one dominates.
func (w *worker) further(r *layout.Recompute, fewest int) (dominates bool) {
	was := w.dominated
	defer func() { w.dominated = was }()
	for n := fewest; ; n++ {
		r.Fill(&w.layout, n)
		dominates = dominates || w.dominates(&w.seen[n])
		w.dominated = was || dominates
		if n >= r.Most-1 || w.beaten(r, n+1) {
			return dominates
		}
		w.at(r, n+1)
	}
}

// spare looks at numbers of layers between two, which run with a variant as the first does: as far
// as they may be tied with the fastest, and leave more memory to spare.
func (w *worker) spare(r *layout.Recompute, low, high int) {
	was := w.dominated
	defer func() { w.dominated = was }()
	w.dominated = true
	for n := low + 1; n < high && !w.beaten(r, n); n++ {
		w.at(r, n)
	}
}

// dominates reports whether the current layout, of which is known what became of it, is at
// least as fast as what recomputes more of it.
func (w *worker) dominates(v *visited) bool {
	return v.verdict == feasible && w.limits.fastest && !v.needsVariant && !v.crowded && w.roomy()
}
