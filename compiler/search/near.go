package search

import (
	"context"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
)

// Nearby is a feasible candidate with what a trial of it has to know.
type Nearby struct {
	Known
	Features int // axes and options beyond the simplest, offload among them
}

// Near lists layouts whose predicted steps take at most a share longer than the
// fastest, fastest first: of every mesh the fastest of each class that the rule of
// choice tells apart. Where the objective is not time there are none.
func Near(ctx context.Context, j *job.Job, t *target.Target, share float64) ([]Nearby, *uncertainty.Prior, error) {
	l := newLimits(j)
	l.near = share
	s := newSearcher(j, t, l, math.Inf(1))
	if err := s.run(ctx); err != nil {
		return nil, nil, err
	}
	evaluator := s.workers[0].evaluator
	var list []Nearby
	for i := range s.ties.list {
		if c := &s.ties.list[i]; c.cost() <= s.limits.reach(&s.best) {
			n := Nearby{Known: Known{Candidate: *c}, Features: int(s.ties.classes[i].features + s.ties.classes[i].offload)}
			evaluator.Uncertain(&c.Layout, &c.Execution, &n.Step)
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b Nearby) int {
		if s.ties.less(&a.Candidate, &b.Candidate) {
			return -1
		}
		return 1
	})
	return list, evaluator.Prior(), nil
}
