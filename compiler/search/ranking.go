package search

import (
	"cmp"
	"slices"

	"github.com/ndc-dev/ndc/lang/units"
)

// ranking keeps the first few candidates in an order, best first. Adding
// copies; once full it does not allocate.
type ranking struct {
	less func(a, b *Candidate) bool
	most int
	list []Candidate
}

func (r *ranking) add(c *Candidate) {
	if !r.open(c) {
		return
	}
	if len(r.list) == r.most {
		r.list = r.list[:r.most-1]
	}
	i := len(r.list)
	r.list = append(r.list, *c)
	for ; i > 0 && r.less(c, &r.list[i-1]); i-- {
		r.list[i] = r.list[i-1]
	}
	r.list[i] = *c
}

// addOnce adds a candidate whose layout may be listed with other options: the better of the two stays.
func (r *ranking) addOnce(c *Candidate) {
	same := func(o Candidate) bool { return o.mesh == c.mesh && o.leaf == c.leaf }
	if i := slices.IndexFunc(r.list, same); i >= 0 {
		if !r.less(c, &r.list[i]) {
			return
		}
		r.list = slices.Delete(r.list, i, i+1)
	}
	r.add(c)
}

// open reports whether a candidate could still be kept.
func (r *ranking) open(c *Candidate) bool {
	return len(r.list) < r.most || r.less(c, &r.list[r.most-1])
}

// better orders candidates, feasible ones first, by the objective, then by the other quantity, then by their place in the
// enumeration.
func better(objective string) func(a, b *Candidate) bool {
	time := (*Candidate).cost
	memory := func(c *Candidate) float64 { return float64(c.Result.PeakDeviceBytes) }
	first, second := time, memory
	if objective == "memory" {
		first, second = memory, time
	}
	return func(a, b *Candidate) bool {
		if x, y := a.broken == "", b.broken == ""; x != y {
			return x
		}
		if x, y := first(a), first(b); x != y {
			return x < y
		}
		if x, y := second(a), second(b); x != y {
			return x < y
		}
		return earlier(a, b)
	}
}

// nearer orders misses by how far they are from their limit. Where memory
// suffices for some layout, it does not bind: those that fail another limit
// come first, and those that fit on the GPU but not on its node next.
func nearer(a, b *Candidate) bool {
	if x := a.compareMiss(b); x != 0 {
		return x < 0
	}
	return earlier(a, b)
}

// exposesLess orders those that fail the limit on exposed communication alone: of those that
// expose as much first the one that a limit which admits them would choose.
func (s *searcher) exposesLess(a, b *Candidate) bool {
	if x := a.compareMiss(b); x != 0 {
		return x < 0
	}
	return s.best.less(a, b)
}

// Nearer reports whether a miss is nearer to its limit than another one, whatever their jobs.
func (c *Candidate) Nearer(than *Candidate) bool { return c.compareMiss(than) < 0 }

func (c *Candidate) compareMiss(with *Candidate) int {
	return cmp.Or(cmp.Compare(c.shortage(), with.shortage()), cmp.Compare(c.missing, with.missing))
}

// shortage is 2 where the GPU's memory is short, 1 where the node's is.
func (c *Candidate) shortage() int {
	switch c.broken {
	case IDMemory:
		return 2
	case IDHostMemory:
		return 1
	}
	return 0
}

// Cost is the step time in seconds, which layouts are ranked by: the expectation
// where it may slow for want of memory.
func (c *Candidate) Cost() float64 { return c.cost() }

func (c *Candidate) cost() float64 {
	return costOf(c.Result.StepSeconds * units.Seconds(1+c.Result.Slower))
}

// costOf is a step time as it is compared: rounded, so that the order of layouts
// is the same on every processor. What is as good but for the last bits ties, and
// ties go the way that better says. Rounding keeps order, so that the floor of a
// cost stays one.
func costOf(step units.Seconds) float64 { return float64(units.Rounded(step)) }

// earlier orders by the place in the enumeration.
func earlier(a, b *Candidate) bool {
	return a.mesh < b.mesh || a.mesh == b.mesh && a.leaf < b.leaf
}
