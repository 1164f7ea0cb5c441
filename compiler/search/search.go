// Package search finds the best layout of a job on a target: it walks the
// space of package layout, asks the target's rules, evaluates what is legal
// with package estimate, and keeps the best, the nearest misses and the counts
// of why the others fell. It is exhaustive: a layout is skipped only where a
// stated order among layouts proves that it cannot win (see prune.go), which a
// test checks against brute force. It is deterministic: workers share nothing
// but the list of meshes, and ties are broken by a total order.
package search

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Kept is how many of the best layouts a search keeps.
const Kept = 10

// Candidate is an evaluated layout.
type Candidate struct {
	Layout    plan.Layout
	Execution plan.Execution
	Result    estimate.Result

	mesh, leaf int     // place in the enumeration, which breaks ties
	broken     diag.ID // the constraint it fails; "" when feasible
	missing    float64 // by how much, relative to the limit
}

// Outcome is what a search found.
type Outcome struct {
	Best    []Candidate // feasible, best first
	Nearest []Candidate // infeasible but legal, nearest first
	Illegal *Candidate  // first illegal layout, when nothing is legal; not evaluated
	Counts  Counts
}

// Counts tells what happened to every layout.
type Counts struct {
	Enumerated, Evaluated, Pruned int64
	Rejected                      map[diag.ID]int64
}

// Run searches every layout of the job that the target can run.
func Run(j *job.Job, t *target.Target) *Outcome {
	s := &shared{job: j, target: t, space: layout.NewSpace(j, t), limits: newLimits(j)}
	workers := make([]*worker, min(runtime.GOMAXPROCS(0), 1+len(s.space.Meshes)/blockSize))
	var group sync.WaitGroup
	for i := range workers {
		workers[i] = newWorker(s)
		group.Go(workers[i].run)
	}
	group.Wait()
	return merge(workers, j.Constraints.Objective)
}

// shared is what all workers read.
type shared struct {
	job    *job.Job
	target *target.Target
	space  *layout.Space
	limits limits
	next   atomic.Int64
}

// blockSize is how many neighbouring meshes a worker takes at once; they share
// the terms that the evaluator remembers.
const blockSize = 16

// worker searches blocks of meshes.
type worker struct {
	*shared
	evaluator     *estimate.Evaluator
	best, nearest ranking
	illegal       *Candidate
	counts        Counts

	layout    plan.Layout
	execution plan.Execution
	facts     target.Facts
	current   Candidate // of the layout being looked at
	dead      []bool    // per recompute choice: larger micro batches cannot fit
}

func newWorker(s *shared) *worker {
	w := &worker{shared: s, evaluator: estimate.New(s.job, s.target)}
	w.best = ranking{less: better(s.job.Constraints.Objective), most: Kept + 1}
	w.nearest = ranking{less: nearer, most: 3}
	w.counts.Rejected = map[diag.ID]int64{}
	w.facts = target.Facts{Job: s.job, Layout: &w.layout, Exec: &w.execution, GPUs: s.job.Cluster.GPUs()}
	return w
}

func (w *worker) run() {
	meshes := w.space.Meshes
	for {
		end := int(w.next.Add(blockSize))
		first := end - blockSize
		if first >= len(meshes) {
			return
		}
		for i := first; i < min(end, len(meshes)); i++ {
			w.mesh(i)
		}
	}
}

// mesh looks at all layouts of one mesh.
func (w *worker) mesh(index int) {
	m := &w.space.Meshes[index]
	w.layout = plan.Layout{}
	m.Fill(&w.layout)
	leaves := w.space.Leaves(m)
	if leaves == 0 {
		w.rejectMesh(index, IDBatchNotDivisible, 1)
		return
	}
	for i := range w.target.Rules {
		if r := &w.target.Rules[i]; r.Mesh && r.Breaks(&w.facts) {
			w.rejectMesh(index, r.ID, leaves)
			return
		}
	}
	if w.limits.leavesDomain(w.target, &w.layout, w.facts.GPUs) {
		w.rejectMesh(index, IDLeavesNVLink, leaves)
		return
	}
	w.counts.Enumerated += leaves
	w.current.mesh, w.current.leaf = index, 0
	pipelines := w.space.Pipelines(m)
	for i := range pipelines {
		w.pipeline(m, &pipelines[i])
	}
}

func (w *worker) rejectMesh(index int, id diag.ID, leaves int64) {
	w.counts.Enumerated += leaves
	w.counts.Rejected[id] += leaves
	if w.illegal == nil {
		l := w.layout
		w.illegal = &Candidate{Layout: l, mesh: index, broken: id}
	}
}

// pipeline looks at all micro batches and recompute choices of a pipeline,
// micro batches ascending.
func (w *worker) pipeline(m *layout.Mesh, p *layout.Pipeline) {
	p.Fill(&w.layout)
	w.dead = append(w.dead[:0], make([]bool, len(p.Recomputes))...)
	replicas := w.layout.DataParallel()
	for _, mbs := range w.space.MicroBatchSizes(m) {
		w.layout.MicroBatchSize = mbs
		w.layout.MicroBatches = w.job.Training.GlobalBatchSize / replicas / mbs
		var fit fits
		for i := range p.Recomputes {
			w.current.leaf++
			if w.dead[i] || fit.dominates(&p.Recomputes[i]) {
				w.counts.Pruned++
				continue
			}
			p.Recomputes[i].Fill(&w.layout)
			verdict := w.visit()
			w.dead[i] = verdict == outOfMemory
			if verdict == feasible && w.limits.fastest {
				fit.add(&p.Recomputes[i])
			}
		}
	}
}

// verdict is what became of one layout.
type verdict uint8

const (
	illegal verdict = iota
	outOfMemory
	overLimit
	feasible
)

// visit checks and evaluates the current layout, first with the recommended
// execution options, then with the target's variants while memory is short.
func (w *worker) visit() verdict {
	w.execution = w.target.Resolve(w.job, &w.layout)
	for i := range w.target.Rules {
		if r := &w.target.Rules[i]; !r.Mesh && r.Breaks(&w.facts) {
			w.reject(r.ID)
			return illegal
		}
	}
	v := w.evaluate()
	base := w.current
	for i := 0; v == outOfMemory && i < len(w.target.Variants); i++ {
		if w.vary(&w.target.Variants[i]) {
			v = w.evaluate()
		}
	}
	if v == feasible {
		w.counts.Evaluated++
		w.best.add(&w.current)
		return v
	}
	// The miss is told as it is without variants, which may not suit the user.
	w.counts.Rejected[base.broken]++
	w.nearest.add(&base)
	return v
}

// vary applies a variant to the recommended options and reports whether it is
// open and legal here.
func (w *worker) vary(v *target.Variant) bool {
	if w.job.Sources.IsSet("execution."+v.Option) || v.Applies != nil && !v.Applies(&w.facts) {
		return false
	}
	w.execution = w.target.Resolve(w.job, &w.layout)
	v.Apply(&w.execution)
	for i := range w.target.Rules {
		if w.target.Rules[i].Breaks(&w.facts) {
			return false
		}
	}
	return true
}

func (w *worker) reject(id diag.ID) {
	w.counts.Rejected[id]++
	if w.illegal == nil {
		w.illegal = &Candidate{Layout: w.layout, Execution: w.execution, mesh: w.current.mesh, leaf: w.current.leaf, broken: id}
	}
}

// evaluate predicts the current layout and holds it against the limits.
func (w *worker) evaluate() verdict {
	w.evaluator.Evaluate(&w.layout, &w.execution, &w.current.Result)
	w.current.Layout, w.current.Execution = w.layout, w.execution
	w.current.broken, w.current.missing = w.limits.check(&w.current.Result)
	switch w.current.broken {
	case "":
		return feasible
	case IDMemory:
		return outOfMemory
	}
	return overLimit
}

// merge joins the workers' findings in the total order.
func merge(workers []*worker, objective string) *Outcome {
	o := &Outcome{Counts: Counts{Rejected: map[diag.ID]int64{}}}
	best, nearest := ranking{less: better(objective), most: Kept + 1}, ranking{less: nearer, most: 3}
	for _, w := range workers {
		for i := range w.best.list {
			best.add(&w.best.list[i])
		}
		for i := range w.nearest.list {
			nearest.add(&w.nearest.list[i])
		}
		if w.illegal != nil && (o.Illegal == nil || earlier(w.illegal, o.Illegal)) {
			o.Illegal = w.illegal
		}
		o.Counts.add(&w.counts)
	}
	o.Best, o.Nearest = best.list, nearest.list
	return o
}

func (c *Counts) add(o *Counts) {
	c.Enumerated += o.Enumerated
	c.Evaluated += o.Evaluated
	c.Pruned += o.Pruned
	for id, n := range o.Rejected {
		c.Rejected[id] += n
	}
}

// Missing is by how many bytes a candidate fails its memory limit; zero when
// it fits.
func (c *Candidate) Missing(j *job.Job) units.Bytes {
	l := newLimits(j)
	return max(0, l.needed(&c.Result)-l.usable)
}

// Broken names the constraint that the candidate fails, "" when none.
func (c *Candidate) Broken() diag.ID { return c.broken }
