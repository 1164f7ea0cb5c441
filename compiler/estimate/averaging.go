package estimate

import (
	"fmt"
	"math"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// replicas are ranks that hold the same state, whole between them and the ranks that
// they share it with.
type replicas struct {
	dense, expert   *collective.Group
	elements, parts float64 // of dense weights and of experts on one rank
}

// replicasOf finds them in a layout: nil where all ranks share one copy of the state.
func (e *Evaluator) replicasOf(l *plan.Layout, s *step) *replicas {
	n := s.elements[s.busiest]
	switch {
	case l.DataParallelReplicate > 1:
		r := &replicas{dense: s.g.replica, elements: float64(n.Dense) / float64(s.g.shard.Size())}
		if n.Expert > 0 {
			r.expert, r.parts = s.g.expertReplica, float64(n.Expert)/float64(s.g.expertShard.Size())
		}
		return r
	case l.ZeroStage == 0 && l.DataParallel() > 1:
		r := &replicas{dense: s.g.data, elements: float64(n.Dense)}
		if n.Expert > 0 {
			r.expert, r.parts = s.g.expertData, float64(n.Expert)
		}
		return r
	}
	return nil
}

// bytes is what a rank holds of a value of some width for each weight.
func (r *replicas) bytes(width float64) units.Bytes {
	return units.Bytes(width * (r.elements + r.parts))
}

// seconds is how long a collective of these values takes, dense weights and experts one
// after the other.
func (r *replicas) seconds(width float64, of func(*collective.Group, units.Bytes) units.Seconds) units.Seconds {
	t := of(r.dense, units.Bytes(width*r.elements))
	if r.expert != nil {
		t += of(r.expert, units.Bytes(width*r.parts))
	}
	return t
}

// averaged is the width of a weight that is averaged: that of the copy that the
// optimizer keeps.
const averaged = 4

// Averaging says what replicas of a legal layout would send if they averaged otherwise
// than all their gradients in every step; nothing where there are no replicas. It
// changes what is learnt, so that no search ever chooses it.
func (e *Evaluator) Averaging(l *plan.Layout, x *plan.Execution) []plan.Averaging {
	s := e.run(l, x)
	r := e.replicasOf(l, s)
	if r == nil {
		return nil
	}
	reduce := func(g *collective.Group, n units.Bytes) units.Seconds { return g.AllReduce(n) }
	send := func(g *collective.Group, n units.Bytes) units.Seconds { return g.PointToPoint(n) }
	n := r.dense.Size()
	whole, once := r.bytes(averaged), r.seconds(averaged, reduce)
	_, now := e.busiest(l, s)
	dense, experts := &now[collectiveReplicaReduce], &now[collectiveExpertReplicaReduce]
	list := []plan.Averaging{{Name: "gradients, all-reduced", Every: 1, Bytes: dense.bytes + experts.bytes, Seconds: dense.seconds + experts.seconds, Agree: "in every step"}}
	for _, every := range []int{10, 100} {
		list = append(list, plan.Averaging{Name: "weights, all-reduced (local SGD)", Every: every, Bytes: whole / units.Bytes(every), Seconds: once / units.Seconds(every), Device: whole,
			Agree: fmt.Sprintf("every %d steps", every), Source: "arXiv:1805.09767"})
	}
	for _, every := range []int{100, 500} {
		list = append(list, plan.Averaging{Name: "their change, to an outer optimizer (DiLoCo)", Every: every, Bytes: whole / units.Bytes(every), Seconds: once / units.Seconds(every), Device: 3 * whole, Host: whole,
			Agree: fmt.Sprintf("every %d steps", every), Source: "arXiv:2311.08105"})
	}
	neighbours := min(2, n-1)
	ring := plan.Averaging{Name: "weights, with both neighbours on a ring", Every: 1, Bytes: units.Bytes(neighbours) * whole, Seconds: r.seconds(averaged*float64(neighbours), send), Device: units.Bytes(neighbours) * whole,
		Agree: "at once", Source: "arXiv:1705.09056"}
	if n > 3 {
		left := (1 + 2*math.Cos(2*math.Pi/float64(n))) / 3
		ring.Agree = fmt.Sprintf("%.3g of a difference is left after a step", units.Rounded(left))
	}
	one := plan.Averaging{Name: "weights, with one peer on an exponential graph", Every: 1, Bytes: whole, Seconds: r.seconds(averaged, send), Device: whole, Source: "arXiv:2110.13363"}
	steps := math.Ceil(units.Rounded(math.Log2(float64(n))))
	one.Agree = units.Count(int(steps), "step") + " until all met"
	if n&(n-1) == 0 {
		one.Agree = "exactly after " + units.Count(int(steps), "step") + ", if they stand still"
	}
	return append(list, ring, one)
}
