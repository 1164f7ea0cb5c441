package search

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// choice is an option of execution with the values that a search may give it:
// those of the job's list, or else those that the target offers unasked beside
// what it recommends. What alters numerics is never offered so.
type choice struct {
	option  *option.Option
	values  []option.Setting
	listed  bool                     // by the job: no other value will do
	applies func(*target.Facts) bool // nil: everywhere
}

// choices lists the options that are open, in the order of their rows.
func choices(j *job.Job, t *target.Target) []choice {
	var list []choice
	for i := range option.Options {
		o := &option.Options[i]
		c := choice{option: o}
		offer := offerOf(t, o)
		switch texts := j.Constraints.Execution[o.Name]; {
		case texts != nil:
			c.listed, c.values = true, settings(o, texts)
		case offer != nil && !o.Numerics && !o.IsSet(&j.Execution):
			c.values, c.applies = settings(o, offer.Values), offer.Applies
		}
		if c.values != nil {
			list = append(list, c)
		}
	}
	return list
}

// offerOf is what the target offers of an option unasked, nil for nothing.
func offerOf(t *target.Target, o *option.Option) *target.Offer {
	for i := range t.Offers {
		if t.Offers[i].Option == o.Name && t.Offers[i].Asked == "" {
			return &t.Offers[i]
		}
	}
	return nil
}

func settings(o *option.Option, texts []string) []option.Setting {
	var list []option.Setting
	for _, text := range texts {
		s, err := o.Setting(text)
		if err != nil {
			panic("search: " + err.Error())
		}
		list = append(list, s)
	}
	if o.Hides && placed(list) {
		slices.SortStableFunc(list, func(a, b option.Setting) int { return a.Place() - b.Place() })
	}
	return list
}

// recommended stands for the value that the target recommends, among the
// places in choice.values.
const recommended = -1

// picks says for every choice which of its values is taken.
type picks []int

// options is what a worker knows of the choices and tries of them. Without any
// choice, all of it is the target's recommendation.
type options struct {
	choices []choice
	listed  bool        // some are the job's own, so that values may save memory, too
	trial   job.Job     // the job with what is being tried
	picks   picks       // what is being tried
	start   picks       // as recommended
	all     []picks     // all that may be tried
	floors  []picks     // of which one is at least as fast as any
	set     *variantSet // without which the current layout does not fit
}

func newOptions(j *job.Job, t *target.Target) options {
	o := options{choices: choices(j, t), trial: *j}
	o.picks, o.start = make(picks, len(o.choices)), make(picks, len(o.choices))
	for i := range o.choices {
		o.listed = o.listed || o.choices[i].listed
	}
	o.floors, o.all = o.combinations((*choice).fastest), o.combinations((*choice).first)
	return o
}

// combinations lists all picks with values from some place on.
func (o *options) combinations(from func(*choice) int) []picks {
	list := []picks{make(picks, len(o.choices))}
	for i := range o.choices {
		c := &o.choices[i]
		var longer []picks
		for _, p := range list {
			for at := from(c); at < len(c.values); at++ {
				p = slices.Clone(p)
				p[i] = at
				longer = append(longer, p)
			}
		}
		list = longer
	}
	return list
}

// fastest is the first of the values of which one is at least as fast as any. What
// is offered beside a recommendation that hides nothing hides more.
func (c *choice) fastest() int {
	if c.option.Hides && (placed(c.values) || !c.listed && len(c.values) == 1) {
		return len(c.values) - 1
	}
	return c.first()
}

// placed reports whether the values stand in one order.
func placed(values []option.Setting) bool {
	return !slices.ContainsFunc(values, func(s option.Setting) bool { return !s.Placed() })
}

// first is the first of the values that a layout may have.
func (c *choice) first() int {
	if c.listed {
		return 0
	}
	return recommended
}

// resolve is how the target runs the current layout with some picks. It reports
// whether all of them apply there.
func (w *worker) resolve(p picks) bool {
	o, all := &w.options, true
	o.trial.Execution = w.job.Execution
	for i, at := range p {
		switch c := &o.choices[i]; {
		case at == recommended:
		case c.applies == nil || c.applies(&w.facts):
			c.values[at].Pin(&o.trial.Execution)
		default:
			all = false
		}
	}
	w.target.Resolve(&o.trial, &w.layout, &w.execution)
	return all
}

// recommend resolves the current layout as the target recommends it, as far as
// the job's lists have that.
func (w *worker) recommend() {
	o := &w.options
	for i := range o.picks {
		o.picks[i] = recommended
	}
	w.resolve(o.picks)
	copy(o.start, o.picks)
	if !o.listed {
		return
	}
	for i := range o.choices {
		if c := &o.choices[i]; c.listed {
			o.picks[i] = max(0, slices.IndexFunc(c.values, func(s option.Setting) bool { return s.Is(&w.execution) }))
		}
	}
	w.resolve(o.picks)
	copy(o.start, o.picks)
}

// changed counts the options that are not as recommended, but for those of the
// job's lists.
func (o *options) changed() (n int) {
	for i, at := range o.picks {
		if at != o.start[i] && !o.choices[i].listed {
			n++
		}
	}
	return n
}

// needsVariant reports whether the current layout fits only with a variant, which
// costs time: it dominates nothing.
func (w *worker) needsVariant() bool { return w.options.set != nil }

// legalise looks for one value of a list that makes the current layout legal.
func (w *worker) legalise() bool {
	o := &w.options
	for i := range o.choices {
		c, was := &o.choices[i], o.picks[i]
		for at := 0; c.listed && at < len(c.values); at++ {
			o.picks[i] = at
			if w.resolve(o.picks); !w.breaksRule() {
				return true
			}
		}
		o.picks[i] = was
	}
	return false
}

// optimise tries every combination of the values that are open for the current
// layout, from what is recommended and its verdict, and leaves the best.
func (w *worker) optimise(v verdict) verdict {
	o := &w.options
	// Options take memory for time, until that asks for a variant, which may need less than neither.
	settled := v == outOfMemory || v == feasible && w.outranked() && len(w.variants) == 0
	if len(o.choices) == 0 || settled && !o.listed {
		return v
	}
	best, set := w.current, o.set
	for _, p := range o.all {
		if slices.Equal(p, o.start) {
			continue
		}
		copy(o.picks, p)
		if !w.resolve(o.picks) || w.execution == best.Execution || w.breaksRule() {
			continue
		}
		next := w.fit(&w.other) // which may need less memory, or more and so a variant
		if next == feasible {
			w.consider()
		}
		w.miss(&w.other)
		if next > v || next == v && w.improves(&best) {
			best, v, set = w.current, next, o.set
		}
	}
	copy(o.picks, o.start)
	o.set = set
	w.current, w.execution = best, best.Execution
	return v
}

// improves reports whether the current options are better than others with the
// same verdict: in what the job asks for, or nearer to being feasible.
func (w *worker) improves(than *Candidate) bool {
	c := &w.current
	if c.shortage() > 0 {
		return nearer(c, than)
	}
	if c.Result.StepSeconds == 0 || than.Result.StepSeconds == 0 { // nobody asked for the time
		return c.Result.PeakDeviceBytes < than.Result.PeakDeviceBytes
	}
	return w.mesh.best.less(c, than)
}

// roomy reports whether the current layout fits with any options, with memory to spare, so that
// recomputing more of it lets it run none that it cannot run as it is.
func (w *worker) roomy() bool {
	for _, p := range w.options.floors {
		if len(p) == 0 {
			return true
		}
		w.resolve(p)
		if r, fits := w.fitsMemory(); !fits || r.Slower > 0 {
			return false
		}
	}
	return true
}

// fitsMemory predicts the memory of the current layout and reports whether it suffices.
func (w *worker) fitsMemory() (r estimate.Result, fits bool) {
	w.evaluator.EvaluateMemoryUpTo(&w.layout, &w.execution, w.limits.usable, &r)
	id, _ := w.limits.checkMemory(&r)
	return r, id == ""
}
