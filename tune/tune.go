// Package tune decides what a trial of layouts on a job's own machine runs, and
// reads what its step times say: which candidates are worth their GPU-hours
// ([Choose]), what is known of them after runs ([Learn]), and which go on to
// another round ([Next]).
//
// A trial is one allocation in which candidates train a few steps each, one after
// the other. What is uncertain beforehand is package uncertainty's, the candidates
// are package compiler's ([compiler.Rivals]), logs are read by package logs, and
// cmd/ndc writes the files. The formulas stand in docs/tune.md. It is pure.
package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// What a trial is made of; all are choices, not measurements, but for the warm-up,
// which is that of package logs.
const (
	// Most is how many candidates a trial has at most.
	Most = 8
	// Share of the GPU-hours of a run that its trial may take, unless somebody says
	// otherwise.
	Share = 0.005

	first       = 0.5 // of the budget at most for the first round; the rest is for those after it
	warmUp      = 5   // steps that tell nothing
	scaling     = 20  // more of fp16: the loss scale is halved from 2^32, a step at a time that the optimizer skips, until gradients fit; published logs begin to train at 2^14 to 2^18
	fewestSteps = 10  // that are measured
	mostSteps   = 100 // that are measured
	least       = 60  // seconds of measured steps, within these bounds
	samples     = 2000
)

// Steps is how many steps a run of a trial has, by the time of one, in a precision.
func Steps(step units.Seconds, precision string) int {
	warm := warmUp
	if precision == "fp16" {
		warm += scaling
	}
	n := mostSteps
	if step > 0 {
		n = int(min(mostSteps, math.Ceil(float64(least/step))))
	}
	return warm + max(fewestSteps, n)
}

// Candidate is a layout that a trial may run. The first of a list is the one that
// is chosen without a trial.
type Candidate struct {
	GPUHours float64 // of one run of a few steps
	Features int     // axes and options beyond the simplest
}

// Budget is what is at stake, in GPU-hours.
type Budget struct {
	Run   float64 // the whole training
	Trial float64 // the most that its trial may take
}

// Round is what one allocation runs.
type Round struct {
	Candidates []int   // places in the list; the one that runs first and last is first, which is the list's first if that can run
	GPUHours   float64 // that its runs take
	Gain       float64 // GPU-hours of the whole training that it is expected to save
	Reserve    []int   // of a first round: those that may join a later one, by what runs say
}

// Worth reports whether a round may be held, and is expected to save more than it
// takes.
func (r *Round) Worth(b Budget) bool {
	return len(r.Candidates) > 1 && r.GPUHours <= b.Trial && r.Gain > r.GPUHours
}

// Order is how the runs of a round follow one another: the first candidate first
// and last, by which a machine that changes meanwhile is known, and the others in
// between, backwards in every second round.
func (r *Round) Order(number int) []int {
	rivals := slices.Clone(r.Candidates[1:])
	if number%2 == 0 {
		slices.Reverse(rivals)
	}
	return slices.Concat(r.Candidates[:1], rivals, r.Candidates[:1])
}

// Choose takes the candidates of a first round: one after the other the one that is
// expected to save the most beside those that are taken, as long as that is more
// than its run takes, and the simplest. Candidates that share what is uncertain
// about them say the same; so those are taken that do not. It leaves half of the
// budget to the rounds after it.
func Choose(known *uncertainty.Joint, list []Candidate, b Budget) Round {
	c := newChooser(known, list, 0, b)
	c.budget.Trial *= first
	if i := simplest(known, list); i > 0 && c.affordable(i) {
		c.take(i)
	}
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	c.join(all)
	c.reserve()
	return c.round
}

// join takes of some candidates one after the other that which is expected to save
// the most beyond what its run takes, as long as there is one.
func (c *chooser) join(some []int) {
	for len(c.round.Candidates) < Most {
		best, most := 0, 0.0
		for _, i := range some {
			if c.taken(i) || !c.affordable(i) {
				continue
			}
			if net := units.Rounded(c.adds(i) - c.list[i].GPUHours); net > most {
				best, most = i, net
			}
		}
		if best == 0 {
			return
		}
		c.take(best)
	}
}

// reserve lists those of the others that may be the fastest, the likelier first.
func (c *chooser) reserve() {
	for len(c.round.Reserve) < Most {
		best, most := 0, 0.0
		for i := 1; i < len(c.list); i++ {
			if c.taken(i) || slices.Contains(c.round.Reserve, i) {
				continue
			}
			if more := units.Rounded(c.adds(i)); more > most {
				best, most = i, more
			}
		}
		if best == 0 {
			return
		}
		c.round.Reserve = append(c.round.Reserve, best)
		for d, x := range c.draws {
			c.least[d] = min(c.least[d], x[best])
		}
	}
}

// simplest is the candidate with the fewest axes and options, the fastest of
// several.
func simplest(known *uncertainty.Joint, list []Candidate) int {
	best := 0
	for i := range list {
		less := cmp.Or(cmp.Compare(list[i].Features, list[best].Features), cmp.Compare(units.Rounded(known.Mean[i]), units.Rounded(known.Mean[best])))
		if less < 0 {
			best = i
		}
	}
	if list[best].Features == list[0].Features {
		return 0
	}
	return best
}

// chooser is a round in the making.
type chooser struct {
	list   []Candidate
	budget Budget
	draws  [][]float64
	least  []float64 // of the candidates taken, by draw
	now    int       // what would be chosen without the round
	round  Round
}

// newChooser begins a round with the candidate that runs first and last.
func newChooser(known *uncertainty.Joint, list []Candidate, ends int, b Budget) *chooser {
	c := &chooser{list: list, budget: b, draws: known.Draws(samples), least: make([]float64, samples)}
	for d := range c.draws {
		c.least[d] = c.draws[d][ends]
	}
	c.round = Round{Candidates: []int{ends}, GPUHours: 2 * list[ends].GPUHours}
	return c
}

func (c *chooser) taken(i int) bool { return slices.Contains(c.round.Candidates, i) }

func (c *chooser) affordable(i int) bool {
	return c.round.GPUHours+c.list[i].GPUHours <= c.budget.Trial
}

// adds is what a candidate is expected to save beside those that are taken.
func (c *chooser) adds(i int) float64 {
	sum := 0.0
	for d, x := range c.draws {
		if x[i] < c.least[d] {
			sum += math.Exp(c.least[d]-x[c.now]) - math.Exp(x[i]-x[c.now])
		}
	}
	return sum / samples * c.budget.Run
}

func (c *chooser) take(i int) {
	c.round.Gain += c.adds(i)
	for d, x := range c.draws {
		c.least[d] = min(c.least[d], x[i])
	}
	c.round.Candidates = append(c.round.Candidates, i)
	c.round.GPUHours += c.list[i].GPUHours
}

// Next halves the candidates that are left after a round: it keeps the one at ends, which
// runs first and last, and the better half of the others. Of those in reserve that no run
// tells of, each joins that is expected to save more than its run takes: what the runs so
// far say of the machine tells of them, too. What a round may gain is what could yet be
// better than what would be chosen now.
func Next(known *uncertainty.Joint, list []Candidate, left, reserve []int, ends int, b Budget) Round {
	c := newChooser(known, list, ends, b)
	c.now = Best(known, left)
	for d := range c.draws {
		c.least[d] = c.draws[d][c.now]
	}
	rivals := slices.DeleteFunc(slices.Clone(left), func(i int) bool { return i == ends })
	slices.SortStableFunc(rivals, func(a, b int) int {
		return cmp.Compare(units.Rounded(known.Mean[a]), units.Rounded(known.Mean[b]))
	})
	c.round.Gain = c.adds(ends)
	for d, x := range c.draws {
		c.least[d] = min(c.least[d], x[ends])
	}
	for _, i := range rivals[:(len(rivals)+1)/2] {
		c.take(i)
	}
	c.join(reserve)
	return c.round
}

// Best is the fastest candidate of those that are left, by what is known.
func Best(known *uncertainty.Joint, left []int) int {
	return slices.MinFunc(left, func(a, b int) int {
		return cmp.Or(cmp.Compare(units.Rounded(known.Mean[a]), units.Rounded(known.Mean[b])), cmp.Compare(a, b))
	})
}
