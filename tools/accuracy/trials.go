package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/tune"
)

// What ndc tune is worth: on grids that somebody measured, its trial runs some of
// the layouts that are predicted to fit and takes the fastest of them. Beside it
// stand as many of the fastest predicted, and as many drawn blindly.

// few is how many runs a short trial has, beside one of tune.Most.
const few = 3

// replay is what comes of a trial of some runs, as regrets; NaN where none of the
// runs reported.
type replay struct{ ndc, predicted, random float64 }

// replayed tries layouts of a cell in a short trial and a long one; false where no
// more fit than the long one has.
func (c *cell) replayed() (short, long replay, ok bool) {
	var list []*result
	for _, r := range c.tried {
		same := func(o *result) bool { return sameJob(o.example, r.example) }
		if r.Verdict != nil && r.Verdict.Feasible && !slices.ContainsFunc(list, same) {
			list = append(list, r)
		}
	}
	if len(list) <= tune.Most {
		return short, long, false
	}
	slices.SortStableFunc(list, func(a, b *result) int { return cmp.Compare(a.Choice.Score, b.Choice.Score) })
	steps := make([]uncertainty.Step, len(list))
	for i := range list {
		steps[i] = list[i].known.Step
	}
	round := tune.Choose(list[0].prior.Joint(steps), make([]tune.Candidate, len(list)), tune.Budget{Run: 1, Trial: 1})
	var chosen []*result // the one that adds the most first, so that a short trial begins like a long one
	for _, i := range round.Candidates {
		chosen = append(chosen, list[i])
	}
	predicted := slices.Clone(list)
	slices.SortStableFunc(predicted, func(a, b *result) int { return cmp.Compare(a.predicted, b.predicted) })
	regrets := make([]float64, len(list))
	for i := range list {
		if regrets[i] = c.regretOf(list[i]); math.IsNaN(regrets[i]) {
			regrets[i] = math.Inf(1)
		}
	}
	slices.Sort(regrets)
	of := func(runs int) replay {
		return replay{c.fastest(chosen[:min(runs, len(chosen))]), c.fastest(predicted[:runs]), meanLeast(regrets, runs)}
	}
	return of(few), of(tune.Most), true
}

// fastest is the least regret of some layouts; NaN where none ran.
func (c *cell) fastest(of []*result) float64 {
	least := math.NaN()
	for _, r := range of {
		if x := c.regretOf(r); !math.IsNaN(x) && !(x > least) {
			least = x
		}
	}
	return least
}

// meanLeast is the expectation of the least of some numbers that are drawn from a
// sorted list without putting back; draws of nothing finite are left out.
func meanLeast(sorted []float64, drawn int) float64 {
	sum, all, none := 0.0, 0.0, 1.0 // none: that of the draw nothing comes before the place
	n := len(sorted)
	for i, x := range sorted {
		if math.IsInf(x, 1) || n-i < drawn {
			break
		}
		here := none * float64(drawn) / float64(n-i)
		sum, all, none = sum+here*x, all+here, none-here
	}
	return sum / all
}

// printTrials writes a line per cell that has enough layouts, and the means.
func printTrials(w io.Writer, results []result) {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "regret %% of the pick of\t%d runs: ndc tune\tfastest predicted\tblind\t%d runs: ndc tune\tfastest predicted\tblind\n", few, tune.Most)
	var cells []*cell
	of := map[string][2][]replay{}
	for _, c := range cellsOf(results) {
		short, long, ok := c.replayed()
		if !ok {
			continue
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", c.name, short, long)
		cells = append(cells, c)
		list := of[c.kind()]
		of[c.kind()] = [2][]replay{append(list[0], short), append(list[1], long)}
	}
	for _, k := range kinds(cells) {
		fmt.Fprintf(out, "mean of %d of %s\t%s\t%s\n", len(of[k][0]), k, meanOf(of[k][0]), meanOf(of[k][1]))
	}
	out.Flush()
}

// String is the regrets in per cent, between tabs.
func (r replay) String() string {
	var cells []string
	for _, x := range []float64{r.ndc, r.predicted, r.random} {
		if text := fmt.Sprintf("%.1f", 100*x); math.IsNaN(x) {
			cells = append(cells, "none ran")
		} else {
			cells = append(cells, text)
		}
	}
	return strings.Join(cells, "\t")
}

// meanOf is the mean of trials of which some run has reported.
func meanOf(list []replay) (sum replay) {
	mean := func(of func(*replay) *float64) {
		n := 0.0
		for i := range list {
			if x := *of(&list[i]); !math.IsNaN(x) {
				*of(&sum) += x
				n++
			}
		}
		*of(&sum) /= n
	}
	mean(func(r *replay) *float64 { return &r.ndc })
	mean(func(r *replay) *float64 { return &r.predicted })
	mean(func(r *replay) *float64 { return &r.random })
	return sum
}
