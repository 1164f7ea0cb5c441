package search

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/units"
)

// worthTelling is the least share of the step that a value has to gain to be told of.
const worthTelling = 0.001

// unasked lists what values of options would gain that only a job which names
// them gets, each alone, beside the chosen candidate.
func (w *worker) unasked(best *Candidate, difference func(a, b *Candidate) uncertainty.Normal) []Contender {
	var list []Contender
	w.stand(best)
	for i := range w.target.Offers {
		offer := &w.target.Offers[i]
		o := option.FindOption(offer.Option)
		why := whyAsk(o, offer)
		w.execution = best.Execution
		if why == "" || !w.leftOpen(o, offer) {
			continue
		}
		for _, value := range settings(o, offer.Values) {
			w.options.trial.Execution = w.job.Execution
			if !w.gains(best, best, value) || !w.worthTelling(best) {
				continue
			}
			c := w.current
			list = append(list, Contender{Candidate: c, Difference: difference(&c, best),
				WhyNot: "execution." + o.Name + " = " + value.Quoted() + " is not chosen unasked: " + why})
		}
	}
	return list
}

// whyAsk says why only a job that names an offered value gets it, "" when a
// search may choose it.
func whyAsk(o *option.Option, offer *target.Offer) string {
	if o.Numerics {
		return "it rounds otherwise, so that another model is learned"
	}
	return offer.Asked
}

// together is what values of options would gain with one another that only a job
// which names them gets: from the chosen candidate on, whichever gains most is
// added, with what goes unasked, as long as one gains. What rounds otherwise stays out, for it is
// another model. nil where no two of them do.
func (w *worker) together(best *Candidate, difference func(a, b *Candidate) uncertainty.Normal) *Contender {
	at := *best
	pinned := w.job.Execution
	var names, reasons []string
	taken := map[string]bool{}
	w.stand(best)
	for {
		next, added := at, option.Setting{}
		var by *option.Option
		var why string
		for i := range w.target.Offers {
			offer := &w.target.Offers[i]
			o := option.FindOption(offer.Option)
			w.execution = at.Execution
			if o.Numerics || taken[o.Name] || !w.leftOpen(o, offer) {
				continue
			}
			for _, value := range settings(o, offer.Values) {
				w.options.trial.Execution = pinned
				if w.gains(&at, &next, value) && w.worthTelling(&at) {
					next, added, by, why = w.current, value, o, offer.Asked
				}
			}
		}
		if by == nil {
			break
		}
		at, taken[by.Name] = next, true
		added.Pin(&pinned)
		if why != "" {
			names, reasons = append(names, by.Name), append(reasons, why)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return &Contender{Candidate: at, Difference: difference(&at, best),
		WhyNot: strings.Join(names, " and ") + " are not chosen unasked: " + strings.Join(reasons, "; ")}
}

// stand puts the worker on a candidate's layout.
func (w *worker) stand(on *Candidate) {
	w.mesh = &meshSearch{index: on.mesh, best: ranking{less: better(w.job.Constraints.Objective), most: 1}}
	w.layout, w.execution, w.current.mesh, w.current.leaf = on.Layout, on.Execution, on.mesh, on.leaf
}

// leftOpen reports whether an offer is for the layout and execution where the worker
// stands, and the job leaves its option open.
func (w *worker) leftOpen(o *option.Option, offer *target.Offer) bool {
	return !o.IsSet(&w.job.Execution) && w.job.Constraints.Execution[o.Name] == nil && (offer.Applies == nil || offer.Applies(&w.facts))
}

// worthTelling reports whether what was evaluated last takes so much less than another
// candidate that somebody would ask for it.
func (w *worker) worthTelling(than *Candidate) bool {
	return w.current.cost() <= units.Rounded((1-worthTelling)*than.cost())
}

// gains evaluates a candidate's layout with one value set beside its execution and
// reports whether a job may ask for that, it is legal, fits and costs less than another.
func (w *worker) gains(from, than *Candidate, value option.Setting) bool {
	w.execution = from.Execution
	value.Set(&w.execution)
	value.Pin(&w.options.trial.Execution)
	if value.Is(&from.Execution) {
		return false
	}
	if _, diags := w.target.Again(&w.options.trial); diags.HasErrors() {
		return false
	}
	return !w.breaksRule() && w.evaluate() == feasible && w.current.broken == "" && w.current.cost() < than.cost()
}
