package search

import (
	"context"
	"math"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// A search that has nothing to beat looks at everything, and the meshes whose floors
// are low are often those whose layouts do not fit. So a few layouts of each mesh
// are tried before.
const (
	fewMeshes  = 256 // of which the search itself finds something soon
	probeBatch = 256 // meshes, after which what was found is shared
	probed     = 3   // pipelines of a mesh: the first, one in the middle and the last
)

// probe bounds the search by layouts that it will find again, one of each mesh: of
// as many as it keeps, the worst of those that it keeps costs no more.
func (s *searcher) probe(ctx context.Context, meshes []meshSearch) {
	if !s.limits.fastest || len(meshes) < fewMeshes {
		return
	}
	found := ranking{less: s.best.less, most: s.best.most}
	for first := 0; first < len(meshes) && meshes[first].floor <= max(s.threshold, s.bound) && !math.IsInf(meshes[first].floor, 1); first += probeBatch {
		batch := meshes[first:min(first+probeBatch, len(meshes))]
		bests := make([]*Candidate, len(batch))
		s.parallel(ctx, len(batch), func(w *worker, i int) { bests[i] = w.probe(&batch[i]) })
		for _, c := range bests {
			if c != nil {
				found.add(c)
			}
		}
		s.fits = len(found.list) > 0
		s.bound, s.threshold = min(s.bound, s.limits.reach(&found)), min(s.threshold, s.limits.threshold(&found))
	}
}

// probe is the best of a few layouts of a mesh that meet every limit, nil if none
// does: with the smallest micro-batch, of some pipelines the first recompute that fits.
func (w *worker) probe(s *meshSearch) *Candidate {
	if math.IsInf(s.floor, 1) || s.floor > max(w.threshold, w.bound) {
		return nil
	}
	w.mesh, w.probing = s, true
	defer func() { w.probing = false }()
	m := &w.space.Meshes[s.index]
	w.current.mesh, w.layout = s.index, plan.Layout{}
	m.Fill(&w.layout)
	w.micro(w.space.MicroBatchSizes(m)[0])
	pipelines := w.space.Pipelines(m)
	var best *Candidate
	n := min(probed, len(pipelines))
	for k := range n {
		p := &pipelines[k*(len(pipelines)-1)/max(n-1, 1)]
		p.Fill(&w.layout)
		for i := range p.Recomputes {
			v := w.probeLayout(&p.Recomputes[i])
			if v == feasible && w.current.broken == "" && (best == nil || w.current.cost() < best.cost()) {
				c := w.current
				best = &c
			}
			if v == feasible || v == outOfMemory && w.current.Result.StateBytes > w.limits.usable {
				break
			}
		}
	}
	return best
}

// probeLayout evaluates the current pipeline with a recompute choice, as the
// target recommends it.
func (w *worker) probeLayout(r *layout.Recompute) verdict {
	r.Fill(&w.layout, max(r.Layers, r.Most))
	w.recommend()
	if w.brokenRule() != "" {
		return illegal
	}
	return w.evaluate()
}
