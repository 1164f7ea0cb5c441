package search

import (
	_ "embed" // for data/spare.json
	"math"
	"math/bits"
	"slices"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// What a search prefers among candidates that predictions cannot tell apart.
const (
	// within is by how much longer than the fastest step the preferred one may be
	// predicted to take.
	within = 0.03
	// tiedLoss is what a tied candidate may take longer than the fastest, by the
	// expectation of their difference.
	tiedLoss = 0.02
	// tiedChance is the least probability of a tied candidate being the better one;
	// as much is left to the fastest.
	tiedChance = 0.2
)

//go:embed data/spare.json
var spareJSON string

// spare are the shares of a GPU's memory below which it is plenty, or enough.
var spare = facts.One[struct {
	Plenty, Enough float64
	Source         string
}]("search: data/spare.json", spareJSON)

// class is what candidates are preferred by when they are tied, the most
// important first; less is better.
type class struct {
	against  int8 // what the job avoids less what it prefers
	unknown  int8 // 1: degrees beyond what was measured, or offload, of which no step was
	memory   int8 // 0: plenty to spare, 1: enough, 2: close to the limit
	offload  int8 // what is kept in host memory
	features int8 // axes and options beyond the simplest

	group int // what else is told apart, and preferred by nothing: see Near
}

// order lists the members of a class with the words for the first in which two
// classes differ.
func (c *class) order() [5]struct {
	value int8
	rule  string
} {
	return [5]struct {
		value int8
		rule  string
	}{
		{c.against, "what the job prefers and avoids"},
		{c.unknown, "inside what was measured"},
		{c.memory, "memory to spare"},
		{c.offload, "no offload"},
		{c.features, "fewer axes and options"},
	}
}

// preferred says by what a candidate is preferred to another, "" when both are
// of one class.
func (c *class) preferred(than *class) (rule string, is bool) {
	theirs := than.order()
	for i, mine := range c.order() {
		if mine.value != theirs[i].value {
			return mine.rule, mine.value < theirs[i].value
		}
	}
	return "", false
}

// ties has the fastest candidate of every class.
type ties struct {
	less    func(a, b *Candidate) bool
	classes []class
	list    []Candidate
}

// add keeps a candidate if it is the fastest of its class.
func (t *ties) add(k class, c *Candidate) {
	i := slices.Index(t.classes, k)
	switch {
	case i < 0:
		t.classes, t.list = append(t.classes, k), append(t.list, *c)
	case t.less(c, &t.list[i]):
		t.list[i] = *c
	}
}

// merge adds what others have kept.
func (t *ties) merge(others *ties) {
	for i := range others.list {
		t.add(others.classes[i], &others.list[i])
	}
}

// consider keeps the current candidate for the rule of choice if it is feasible
// and within reach of the fastest so far.
func (w *worker) consider() {
	if c := &w.current; w.limits.fastest && c.broken == "" && c.cost() <= w.reach() && !w.idle(&c.Execution) {
		w.mesh.ties.add(w.class(c), c)
	}
}

// reach is the cost up to which a candidate may yet be preferred to the fastest.
func (w *worker) reach() float64 {
	return min(w.bound, w.limits.reach(&w.mesh.best))
}

// class is what the current candidate would be preferred by.
func (w *worker) class(c *Candidate) class {
	k := classOf(w.job, w.envelope(), c, w.options.changed())
	if w.limits.near > 0 {
		k.group = 1 + c.mesh
	}
	return k
}

// classOf is what a candidate is preferred by, of whose options some are not as
// recommended.
func classOf(j *job.Job, measured *uncertainty.Envelope, c *Candidate, changed int) class {
	k := class{features: int8(features(&c.Layout) + changed)}
	switch share := float64(c.Result.PeakDeviceBytes) / float64(j.Cluster.GPU.Memory); {
	case share > spare.Enough:
		k.memory = 2
	case share > spare.Plenty:
		k.memory = 1
	}
	for _, used := range [...]bool{c.Execution.OffloadActivations, c.Execution.OffloadOptimizer, c.Execution.OffloadParameters} {
		if used {
			k.offload++
		}
	}
	if k.offload > 0 || measured.Beyond(&c.Layout, j.Model.SequenceLength) > 0 {
		k.unknown = 1
	}
	k.against = uses(j.Constraints.Avoid, c) - uses(j.Constraints.Prefer, c)
	return k
}

// uses counts those of some axes and options that a candidate uses, each once.
func uses(names []string, c *Candidate) (n int8) {
	for i, name := range names {
		if option.Uses(name, &c.Layout, &c.Execution) && !slices.Contains(names[:i], name) {
			n++
		}
	}
	return n
}

// Known is a candidate with what the uncertainty of its step depends on.
type Known struct {
	Candidate
	Step uncertainty.Step
}

// Order ranks feasible candidates of one job as a search chooses: those that are
// tied with the fastest by what is preferred of them, then the others by their
// time. It returns their places in the list, the chosen one first.
func Order(j *job.Job, prior *uncertainty.Prior, list []Known) []int {
	if len(list) == 0 {
		return nil
	}
	steps := map[*Candidate]*uncertainty.Step{}
	c := contest{less: better("throughput"), difference: func(a, b *Candidate) uncertainty.Normal {
		return difference(prior, a, b, steps[a], steps[b])
	}}
	measured := &uncertainty.Embedded().Of(j).Measured
	for i := range list {
		k := &list[i]
		steps[&k.Candidate] = &k.Step
		c.list, c.classes = append(c.list, &k.Candidate), append(c.classes, classOf(j, measured, &k.Candidate, 0))
	}
	byTime := make([]int, len(list))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortStableFunc(byTime, c.compareTime)
	tied := c.tied(byTime[0])
	return append(tied, slices.DeleteFunc(byTime, func(i int) bool { return slices.Contains(tied, i) })...)
}

// contest is feasible candidates of one job, among which the rule of choice
// decides, with their classes and what is known of the difference of two.
type contest struct {
	list       []*Candidate
	classes    []class
	less       func(a, b *Candidate) bool // by time
	difference func(a, b *Candidate) uncertainty.Normal
}

// tied lists the places of those that are tied with the fastest, it among them,
// the preferred one first.
func (c *contest) tied(at int) []int {
	fastest := c.list[at]
	var list []int
	for i, other := range c.list {
		if i == at || other.cost() <= reachOf(fastest) && isTied(c.difference(other, fastest)) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch rule, is := c.classes[a].preferred(&c.classes[b]); {
		case rule == "":
			return c.compareTime(a, b)
		case is:
			return -1
		}
		return 1
	})
	return list
}

func (c *contest) compareTime(a, b int) int {
	switch x, y := c.list[a], c.list[b]; {
	case c.less(x, y):
		return -1
	case c.less(y, x):
		return 1
	}
	return 0
}

// reachOf is the cost up to which a candidate may be preferred to the fastest.
func reachOf(fastest *Candidate) float64 { return units.Rounded(fastest.cost() * (1 + within)) }

// features counts what a layout has that is more to start, to debug and to
// resume than plain data parallelism, model chunks by how often they double.
func features(l *plan.Layout) (n int) {
	n = bits.Len(uint(max(l.VirtualPipeline, 1))) - 1
	for _, used := range [...]bool{
		l.TensorParallel > 1, l.TensorParallel > 1 && !l.SequenceParallel, l.ContextParallel > 1, l.PipelineParallel > 1,
		uneven(l.StageLayers), l.ExpertParallel > 1, l.ExpertTensorParallel > 1, l.DataParallelReplicate > 1 && l.DataParallelShard > 1,
		l.ZeroStage > 1, l.Recompute != plan.RecomputeNone, l.RecomputeMethod == "block",
	} {
		if used {
			n++
		}
	}
	return n
}

func uneven(split []int) bool {
	return slices.ContainsFunc(split, func(layers int) bool { return layers != split[0] })
}

// Contender is a candidate that the chosen one was compared with.
type Contender struct {
	Candidate
	Difference uncertainty.Normal // of its time over that of the chosen one
	WhyNot     string             // why it was not chosen
}

// Choice says how the best candidate was chosen.
type Choice struct {
	Rule  string      // what it is, among those that are tied
	Among []Contender // those that are tied with the fastest, and what the job would have to ask for
	// Loss is the distribution of the chosen one's time over that of the fastest.
	Loss uncertainty.Normal
}

// choose applies the rule of choice to what was found: of the candidates that are
// tied with the fastest, the one whose class is preferred.
func (s *searcher) choose() {
	o := &s.outcome
	if len(o.Best) == 0 {
		return
	}
	o.Choice.Rule = "the fastest"
	if !s.limits.fastest {
		o.Choice.Rule = "the least memory"
		return
	}
	w := s.workers[0]
	steps := map[*Candidate]*uncertainty.Step{}
	step := func(c *Candidate) *uncertainty.Step {
		if steps[c] == nil {
			steps[c] = &uncertainty.Step{}
			w.evaluator.Uncertain(&c.Layout, &c.Execution, steps[c])
		}
		return steps[c]
	}
	prior := w.evaluator.Prior()
	c := contest{classes: s.ties.classes, less: s.ties.less, difference: func(a, b *Candidate) uncertainty.Normal {
		return difference(prior, a, b, step(a), step(b))
	}}
	at := -1
	for i := range s.ties.list {
		c.list = append(c.list, &s.ties.list[i])
		if sameChoice(c.list[i], &o.Best[0]) {
			at = i
		}
	}
	if at < 0 { // it has its equal in time among those that it dominates, which needs less memory
		at = slices.IndexFunc(c.list, func(other *Candidate) bool { return other.cost() == o.Best[0].cost() && s.ties.less(other, &o.Best[0]) })
	}
	if at < 0 {
		return
	}
	fastest := c.list[at]
	tied := c.tied(at)
	chosen := tied[0]
	best := *c.list[chosen]
	slices.SortFunc(tied, c.compareTime)
	for _, i := range tied[:min(len(tied), Kept)] {
		other := c.list[i]
		if i == chosen {
			continue
		}
		rule, _ := c.classes[chosen].preferred(&c.classes[i])
		o.Choice.Among = append(o.Choice.Among, Contender{Candidate: *other, Difference: c.difference(other, &best), WhyNot: rule})
		if i == at {
			o.Choice.Rule = rule
		}
	}
	if chosen != at {
		o.Choice.Loss = c.difference(&best, fastest)
	}
	if !sameChoice(&best, &o.Best[0]) {
		// the layouts that come next, without the chosen one
		o.Best = slices.DeleteFunc(o.Best, func(c Candidate) bool { return c.mesh == best.mesh && sameLayout(&c, &best) })
		o.Best = slices.Insert(o.Best, 0, best)
		o.Best = o.Best[:min(len(o.Best), Kept+1)]
	}
	o.Choice.Among = append(o.Choice.Among, w.unasked(&best, c.difference)...)
	if all := w.together(&best, c.difference); all != nil {
		o.Choice.Among = append(o.Choice.Among, *all)
	}
}

// isTied reports whether a candidate with some difference to the fastest is tied
// with it.
func isTied(d uncertainty.Normal) bool {
	chance := units.Rounded(d.Below(1))
	return units.Rounded(d.Expected()) <= 1+tiedLoss && chance >= tiedChance && chance <= 1-tiedChance
}

// Difference is the distribution of the time of one candidate over that of another of
// the same model and GPU.
func Difference(prior *uncertainty.Prior, a, b *Known) uncertainty.Normal {
	return difference(prior, &a.Candidate, &b.Candidate, &a.Step, &b.Step)
}

// difference is the distribution of the time of one candidate over that of
// another, as it is decided on and told, the same on every processor. What either
// may slow for want of memory counts by its expectation.
func difference(prior *uncertainty.Prior, a, b *Candidate, x, y *uncertainty.Step) uncertainty.Normal {
	d := prior.Difference(x, y)
	d.Mean += math.Log1p(a.Result.Slower) - math.Log1p(b.Result.Slower)
	return uncertainty.Normal{Mean: units.RoundedTo(d.Mean, 1), Spread: units.RoundedTo(d.Spread, 1)}
}

func sameChoice(a, b *Candidate) bool {
	return a.mesh == b.mesh && a.Execution == b.Execution && sameLayout(a, b)
}

func sameLayout(a, b *Candidate) bool {
	for i := range option.Axes {
		if !option.Axes[i].Same(&a.Layout, &b.Layout) {
			return false
		}
	}
	return true
}

// envelope is what was measured of jobs like the searched one.
func (s *searcher) envelope() *uncertainty.Envelope {
	return &uncertainty.Embedded().Of(s.job).Measured
}
