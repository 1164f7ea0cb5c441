package search

import (
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// Two orders among layouts that agree in everything else let the search skip
// some without losing the best one:
//
//   - memory grows with the micro batch: what does not fit at one size does not
//     fit at a larger one (worker.dead);
//   - recomputing more takes longer: no recompute is at least as fast as any,
//     a selective one at least as fast as a full one, and a full one over fewer
//     layers of each chunk at least as fast as over more. So when one of them
//     is feasible, those after it cannot win on time (fits).
//
// The second order is not used when the objective is memory.
type fits struct {
	none, selective bool
	block           int // smallest feasible recompute_layers; 0: none
}

func (f *fits) add(r *layout.Recompute) {
	switch {
	case r.Mode == plan.RecomputeNone:
		f.none = true
	case r.Mode == plan.RecomputeSelective:
		f.selective = true
	case r.Method == "block" && (f.block == 0 || r.Layers < f.block):
		f.block = r.Layers
	}
}

// dominates reports whether a feasible choice is at least as fast as r.
func (f *fits) dominates(r *layout.Recompute) bool {
	if f.none {
		return true
	}
	if r.Mode != plan.RecomputeFull {
		return false
	}
	whole := r.Method != "block"
	return whole && (f.selective || f.block > 0) || !whole && f.block > 0 && r.Layers > f.block
}
