package search

import (
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// What lets the search skip layouts without losing one that it would keep:
//
//   - a floor: a step time that a mesh, or a pipeline with a micro-batch, cannot
//     beat (estimate.MeshFloor, estimate.Floor), above the worst one kept, or known to
//     be (probe.go);
//   - memory grows with the micro-batch: what does not fit at one size does not
//     fit at a larger one (worker.outgrown), but for so few that all are in flight
//     before there are gradients, where those come with the first backward pass;
//   - parameters, gradients and optimizer state depend on neither micro-batch nor
//     recompute: where they alone do not fit, nothing does (worker.stateTooLarge);
//   - recomputing more layers of a chunk needs no more memory (worker.choose);
//   - recomputing more takes longer, but where the memory is so full that steps may slow: no recompute is at least as fast as any,
//     a selective one at least as fast as a full one, and a full one over fewer
//     layers of each chunk at least as fast as over more. When one of them fits with
//     any execution options, those after it cannot win on time (fits); so they are
//     looked at only as far as they may be tied with the fastest, and no alternative
//     is one of them.
//
// Of a calibrated cluster whose factors differ the last is no proof: recompute may hide more of what
// waits than it adds (estimate, calibrated.go). Floors count that.
//
// Numbers of recomputed layers are halved, not counted through (layers.go): memory falls with
// them, so that what fits is one stretch. Within it each set of options is taken to be the best on
// one stretch, which is no proof; brute force agrees.
//
// Execution options are tried where they are open, each combination of them. What
// takes the more time out of a step is on in every floor, free of the contention
// that it causes (estimate.Floor); of the others a floor is the least of all.
//
// What may be tied with the fastest is not skipped: the search keeps the fastest
// of every class that the rule of choice tells apart (ties.go), so limits of time
// are the larger of that of the worst one kept and 3 % above the best.
//
// Under a limit on the exposed share a floor of that, of the layout at hand and with every variant
// that memory may ask for, is asked before its memory, but for the first one of a pipeline, whose
// state may tell of all where nothing is feasible yet. One floor may tell of all recompute choices
// of a pipeline with a micro-batch, or of many numbers of recomputed layers (exposed.go).
//
// Where no mesh that is left may meet the limit on the step and nothing is feasible, nothing will
// be: what is then slower than the nearest is left out (searcher.settle).
//
// Only the second and third are used when the objective is memory, where a layout that needs
// more than the worst one kept is not timed, nor asked for its options unless variants are open:
// what an option asks for may save more than it takes. Of the last two none is used under a limit
// on the exposed share, which more recompute makes smaller.
type fits struct {
	none, selective, block bool
}

func (f *fits) add(r *layout.Recompute) {
	switch {
	case r.Mode == plan.RecomputeNone:
		f.none = true
	case r.Mode == plan.RecomputeSelective:
		f.selective = true
	case r.Method == "block":
		f.block = true
	}
}

// dominates reports whether a feasible choice is at least as fast as r.
func (f *fits) dominates(r *layout.Recompute) bool {
	if f.none {
		return true
	}
	whole := r.Mode == plan.RecomputeFull && r.Method != "block"
	return whole && (f.selective || f.block)
}
