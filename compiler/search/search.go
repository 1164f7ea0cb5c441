// Package search finds the best layout of a job on a target: it walks the
// space of package layout, asks the target's rules, evaluates what is legal
// with package estimate, and keeps the best, the nearest misses and the counts
// of why the others fell. It is exhaustive: a layout is skipped only where a
// bound or an order among layouts proves that it cannot win (prune.go, which
// says what is taken for granted of numbers of recomputed layers), and a test
// checks that against brute force. It is deterministic, counts included,
// whatever the number of workers: meshes are searched in fixed batches, and
// what one mesh learns is used from the next batch on.
package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
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

// Kept is how many of the best layouts a search keeps beside the winner.
const Kept = 10

// mostNearest is how many of the nearest misses it keeps.
const mostNearest = 3

// Candidate is an evaluated layout.
type Candidate struct {
	Layout    plan.Layout
	Execution plan.Execution
	Result    estimate.Result

	mesh, leaf int     // place in the enumeration, which breaks ties
	broken     diag.ID // the constraint it fails; "" when feasible
	missing    float64 // by how much, relative to the limit
}

// Broken names the constraint that the candidate fails, "" when none.
func (c *Candidate) Broken() diag.ID { return c.broken }

// Missing is by how many bytes a candidate fails the limit of the GPU's memory
// or else of its node's; zero when it fits.
func (c *Candidate) Missing(j *job.Job) (device, host units.Bytes) {
	l := newLimits(j)
	if c.broken == IDHostMemory {
		return 0, c.Result.HostBytes - l.host
	}
	return max(0, c.Result.NeededBytes-l.usable), 0
}

// Outcome is what a search found.
type Outcome struct {
	Best []Candidate // feasible: the chosen one, then the others, best first
	// Over are those that come next by the objective, and take longer than a limit: what
	// was the fastest of them all was chosen among them, too.
	Over []Candidate
	// Fastest is the step of the fastest layout, of which the chosen one may take a
	// little longer for the least memory; zero with any other objective.
	Fastest units.Seconds
	// Shortest is the one of the shortest step, to which another may be preferred, of the same
	// layout with other options, too; nil where none is feasible.
	Shortest *Candidate
	Choice   Choice      // how the first was chosen
	Nearest  []Candidate // where none is: infeasible but legal, nearest first
	// Exposed is, where none is feasible, of those that fail the limit on exposed communication
	// and no other, with any options, the one that exposes the least.
	Exposed *Candidate
	// HostBytes is, where none is feasible, the least that a node needs beside its GPUs, whose
	// memory suffices, among those for which its own does not, with any options; 0 for none.
	HostBytes units.Bytes
	Illegal   *Candidate // first illegal layout, when nothing is legal; not evaluated
	Counts    Counts
}

// Counts tells what happened to every layout.
type Counts struct {
	Enumerated, Evaluated, Pruned int64
	Rejected                      map[diag.ID]int64
}

// Run searches every layout of the job that the target can run. When the context
// ends before the search, there is no outcome but the context's error.
func Run(ctx context.Context, j *job.Job, t *target.Target) (*Outcome, error) {
	return byObjective(ctx, j, t, newLimits(j))
}

// Seek is Run for who asks what is chosen, or what is nearest where nothing is feasible. It
// keeps fewer alternatives, and looks at fewer layouts that are slower than a limit allows, so
// that Best, Over and Counts tell less.
func Seek(ctx context.Context, j *job.Job, t *target.Target) (*Outcome, error) {
	l := newLimits(j)
	l.sought = true
	return byObjective(ctx, j, t, l)
}

// byObjective searches every layout, by the objective of the job.
func byObjective(ctx context.Context, j *job.Job, t *target.Target, l limits) (*Outcome, error) {
	if j.Constraints.Objective == "memory" {
		return runSmall(ctx, j, t, l)
	}
	return run(ctx, j, t, l, math.Inf(1))
}

// mostSlower is by how much longer than the fastest layout that of least memory
// may take, as a share.
const mostSlower = 0.05

// AlmostAsFast is the longest step that counts as almost as fast as another one,
// where the least memory is the objective.
func AlmostAsFast(step units.Seconds) units.Seconds { return units.Rounded(step * (1 + mostSlower)) }

// runSmall searches the least memory among the layouts that are almost as fast as
// the fastest, which it searches first. That is not always the one that throughput
// would choose: a tied one may be preferred, by the memory that it spares for one.
func runSmall(ctx context.Context, j *job.Job, t *target.Target, l limits) (*Outcome, error) {
	fast, timed := *j, l
	fast.Constraints.Objective, timed.fastest = "throughput", true
	first := newSearcher(&fast, t, timed, math.Inf(1))
	o, err := first.find(ctx)
	if err != nil || len(o.Best) == 0 {
		return o, err
	}
	shortest := o.Shortest
	fastest := shortest.Result.StepSeconds
	l.within(AlmostAsFast(fastest), IDSlower)
	if elsewhere := j.Constraints.Fastest; elsewhere > 0 {
		l.within(AlmostAsFast(elsewhere), IDSlower)
	}
	if o, err = first.again(j, l, costOf(l.step)).find(ctx); err == nil {
		o.Fastest, o.Shortest = fastest, shortest
	}
	return o, err
}

// Below finds the best layout whose cost is at most a number of seconds, nil if
// there is none. It looks at those only, and so takes less time than Run.
func Below(ctx context.Context, j *job.Job, t *target.Target, cost float64) (*Candidate, error) {
	o, err := run(ctx, j, t, newLimits(j), cost)
	if err != nil || len(o.Best) == 0 || o.Best[0].cost() > cost {
		return nil, err
	}
	return &o.Best[0], nil
}

// run searches the layouts that cost at most a number.
func run(ctx context.Context, j *job.Job, t *target.Target, l limits, cost float64) (*Outcome, error) {
	return newSearcher(j, t, l, cost).find(ctx)
}

// newSearcher prepares a search of the layouts that cost at most a number.
func newSearcher(j *job.Job, t *target.Target, l limits, cost float64) *searcher {
	s := (&searcher{target: t, space: layout.NewSpace(j, t)}).again(j, l, cost)
	s.known = make([]meshFloor, len(s.space.Meshes))
	for range max(1, min(runtime.GOMAXPROCS(0), len(s.space.Meshes)/lastBatch+1)) {
		s.workers = append(s.workers, newWorker(s))
	}
	return s
}

// again is another search of the same space for a job that differs in its
// constraints on cost only. It knows what the first one has learned of the times
// of meshes.
func (s *searcher) again(j *job.Job, l limits, cost float64) *searcher {
	less := better(j.Constraints.Objective)
	next := &searcher{job: j, target: s.target, space: s.space, limits: l, threshold: cost, bound: cost, cost: cost, most: math.MaxInt64, known: s.known,
		best: ranking{less: less, most: l.kept()}, ties: ties{less: less}, nearest: ranking{less: nearer, most: mostNearest},
		outcome: Outcome{Counts: Counts{Rejected: map[diag.ID]int64{}}}}
	for _, w := range s.workers {
		w.searcher = next
		next.workers = append(next.workers, w)
	}
	return next
}

// find searches, and chooses among what was found.
func (s *searcher) find(ctx context.Context) (*Outcome, error) {
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	for i := range s.best.list {
		if c := &s.best.list[i]; c.broken == "" {
			s.outcome.Best = append(s.outcome.Best, *c)
		} else {
			s.outcome.Over = append(s.outcome.Over, *c)
			s.nearest.addOnce(c)
		}
	}
	if len(s.outcome.Best) == 0 {
		s.outcome.Nearest, s.outcome.Exposed = s.nearest.list, s.exposed
		for i := range s.nearest.list {
			if c := &s.nearest.list[i]; c.shortage() > 0 { // its time decided nothing
				s.workers[0].time(c)
			}
		}
	} else {
		s.outcome.HostBytes, s.outcome.Shortest = 0, &s.best.list[0]
	}
	s.choose()
	return &s.outcome, nil
}

// Meshes are searched in batches before their findings are shared: small ones
// first, because the first findings cut the most.
const (
	firstBatch = 2
	lastBatch  = 32
)

// searcher is one search. Workers read it and write to their own meshes'
// findings; it is changed between batches only.
type searcher struct {
	job     *job.Job
	target  *target.Target
	space   *layout.Space
	limits  limits
	workers []*worker
	known   []meshFloor // by mesh
	// what a layout must not exceed to be kept, by the objective
	cost      float64 // what is worth looking at
	threshold float64
	bound     float64 // to be kept as a tie of the fastest
	most      units.Bytes
	fits      bool // some layout meets every limit
	settled   bool // see settle

	best, nearest ranking
	exposed       *Candidate // see Outcome
	ties          ties
	outcome       Outcome
}

// run takes the meshes by their floor, fastest first, so that good layouts are
// found early and the rest is skipped. It ends early with the context.
func (s *searcher) run(ctx context.Context) error {
	meshes := make([]meshSearch, len(s.space.Meshes))
	s.parallel(ctx, len(meshes), func(w *worker, i int) { w.open(i, &meshes[i]) })
	slices.SortStableFunc(meshes, func(a, b meshSearch) int { return cmp.Compare(a.floor, b.floor) })
	s.probe(ctx, meshes)
	size := firstBatch
	for first := 0; first < len(meshes); first, size = first+size, min(2*size, lastBatch) {
		s.settle(ctx, meshes[first:])
		batch := meshes[first:min(first+size, len(meshes))]
		s.parallel(ctx, len(batch), func(w *worker, i int) { w.search(&batch[i]) })
		if ctx.Err() != nil {
			break
		}
		for i := range batch {
			s.take(&batch[i])
		}
	}
	return ctx.Err()
}

// parallel calls work for every index, on all workers, or until the context
// ends. A panic of one of them becomes the caller's, who can recover from it.
func (s *searcher) parallel(ctx context.Context, n int, work func(w *worker, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	var defect atomic.Pointer[string]
	for _, w := range s.workers {
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					defect.CompareAndSwap(nil, &text)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				work(w, i)
			}
		})
	}
	group.Wait()
	if text := defect.Load(); text != nil {
		panic(*text)
	}
}

// take adds the findings of a mesh to the search's own.
func (s *searcher) take(m *meshSearch) {
	for i := range m.best.list {
		s.best.add(&m.best.list[i])
	}
	for i := range m.nearest.list {
		s.nearest.add(&m.nearest.list[i])
	}
	if m.exposed != nil && (s.exposed == nil || s.exposesLess(m.exposed, s.exposed)) {
		s.exposed = m.exposed
	}
	if m.host > 0 && (s.outcome.HostBytes == 0 || m.host < s.outcome.HostBytes) {
		s.outcome.HostBytes = m.host
	}
	if m.illegal != nil && (s.outcome.Illegal == nil || earlier(m.illegal, s.outcome.Illegal)) {
		s.outcome.Illegal = m.illegal
	}
	c := &s.outcome.Counts
	c.Enumerated += m.counts.Enumerated
	c.Evaluated += m.counts.Evaluated
	c.Pruned += m.counts.Pruned
	for id, n := range m.counts.Rejected {
		c.Rejected[id] += n
	}
	s.ties.merge(&m.ties)
	s.fits = s.fits || len(s.best.list) > 0 && s.best.list[0].broken == ""
	s.bound = min(s.bound, s.limits.reach(&s.best))
	s.threshold, s.most = min(s.threshold, s.limits.threshold(&s.best)), s.limits.most(&s.best)
	s.forget()
}

// forget keeps what is slower than slowest from being looked at.
func (s *searcher) forget() {
	slowest := s.slowest()
	s.bound, s.threshold = min(s.bound, slowest), min(s.threshold, slowest)
}

// settle finds out whether any of the meshes that are left may meet the limit on the step: where
// none does and nothing is feasible, nothing will be, and the nearest are all that counts.
func (s *searcher) settle(ctx context.Context, left []meshSearch) {
	limit := costOf(s.limits.step)
	if s.settled || s.fits || s.limits.step == 0 || left[0].floor <= limit {
		return
	}
	var open atomic.Bool
	s.parallel(ctx, len(left), func(w *worker, i int) {
		if !open.Load() && !math.IsInf(left[i].floor, 1) && w.leastFloor(left[i].index) <= limit {
			open.Store(true)
		}
	})
	s.settled = !open.Load()
	s.forget()
}

// slowest is the cost above which a layout is neither feasible nor among the nearest, where
// nobody asks for others: each takes longer than the limit by more than these miss theirs.
func (s *searcher) slowest() float64 {
	l := &s.limits
	if l.step == 0 || !l.sought && !s.settled {
		return math.Inf(1)
	}
	if s.fits {
		return costOf(l.step)
	}
	near := ranking{less: nearer, most: s.nearest.most, list: slices.Clone(s.nearest.list)}
	for i := range s.best.list {
		near.addOnce(&s.best.list[i])
	}
	if n := len(near.list); n == near.most && near.list[n-1].shortage() == 0 {
		return costOf(l.step * units.Seconds(1+near.list[n-1].missing) * (1 + 1e-8)) // beyond what rounding takes
	}
	return math.Inf(1)
}

// meshFloor is what is known of the costs that a mesh cannot beat: with its smallest
// micro-batch, by which meshes are ordered, and with any. Zero is nothing.
type meshFloor struct{ smallest, any float64 }

// meshSearch is the search of one mesh and its findings.
type meshSearch struct {
	index         int
	floor         float64 // with the smallest micro-batch, to order by; +Inf when rejected
	best, nearest ranking
	ties          ties
	exposed       *Candidate
	host          units.Bytes // see Outcome.HostBytes
	illegal       *Candidate
	counts        Counts
}
