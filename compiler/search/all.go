package search

import (
	"context"
	"math"

	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// All evaluates every layout that breaks no rule, those that do not fit and those
// that cannot win included, with the options that the target recommends, and those
// that a choice has instead where the layout allows them. Of a number
// of recomputed layers it takes the fewest and the most. Of more than most
// layouts it takes every n-th. It calls each with one candidate after the other, in
// the order of the space, and ends early with the context.
func All(ctx context.Context, j *job.Job, t *target.Target, like *plan.Choice, most int64, each func(c *Candidate)) error {
	s := &searcher{job: j, target: t, space: layout.NewSpace(j, t), limits: newLimits(j), threshold: math.Inf(1), bound: math.Inf(1), most: math.MaxInt64}
	w := newWorker(s)
	w.mesh = &meshSearch{counts: Counts{Rejected: map[diag.ID]int64{}}}
	walk := visitor{worker: w, like: &like.Execution}
	w.layout = like.Layout
	w.recommend()
	for i := range option.Options {
		if o := &option.Options[i]; !o.Same(&w.execution, &like.Execution) {
			walk.instead = append(walk.instead, o)
		}
	}
	for i := range s.space.Meshes {
		walk.meshLayouts(i)
	}
	walk.every, walk.seen, walk.each = (walk.seen+most-1)/most, 0, each
	for i := range s.space.Meshes {
		if err := ctx.Err(); err != nil {
			return err
		}
		walk.meshLayouts(i)
	}
	return nil
}

// visitor shows every n-th legal layout to somebody; while there is nobody, it
// counts.
type visitor struct {
	*worker
	every, seen int64
	each        func(c *Candidate)
	like        *plan.Execution
	instead     []*option.Option // that it has otherwise than recommended
}

// meshLayouts looks at the layouts of a mesh.
func (v *visitor) meshLayouts(index int) {
	m := &v.space.Meshes[index]
	v.mesh.index = index
	m.Fill(&v.layout)
	if v.meshFault(m, v.space.Leaves(m)) != "" {
		return
	}
	pipelines := v.space.Pipelines(m)
	for i := range pipelines {
		p := &pipelines[i]
		for _, mbs := range v.space.MicroBatchSizes(m) {
			for k := range p.Recomputes {
				r := &p.Recomputes[k]
				v.visitAt(p, mbs, r, r.Layers)
				if r.Most > r.Layers {
					v.visitAt(p, mbs, r, r.Most)
				}
			}
		}
	}
}

// visitAt evaluates one layout, if it is its turn and breaks no rule.
func (v *visitor) visitAt(p *layout.Pipeline, mbs int, r *layout.Recompute, layers int) {
	if v.seen++; v.each == nil || v.seen%v.every != 0 {
		return
	}
	p.Fill(&v.layout)
	v.micro(mbs)
	r.Fill(&v.layout, layers)
	v.recommend()
	for _, o := range v.instead {
		o.Copy(&v.execution, v.like)
	}
	if v.brokenRule() != "" {
		if v.recommend(); v.brokenRule() != "" {
			return
		}
	}
	if v.idle(&v.execution) {
		return
	}
	c := &v.current
	c.Layout, c.Execution = v.layout, v.execution
	v.evaluator.EvaluateMemory(&c.Layout, &c.Execution, &c.Result)
	v.time(c)
	if c.broken, c.missing = v.limits.checkMemory(&c.Result); c.broken == "" {
		if c.broken, c.missing = v.limits.checkStep(&c.Result); c.broken == "" {
			c.broken, c.missing = v.limits.checkExposed(&c.Result)
		}
	}
	v.each(c)
}
