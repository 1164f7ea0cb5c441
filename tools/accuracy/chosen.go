package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// A prediction is optimistic about what it chose. By how much is one number
// (compiler/uncertainty/data/selection.json), and what it rests on judges it here:
// it is fitted again without each group of measured layouts, and without each of
// their sources, and predicts what was left out.

// chosenGroup is a choice among some measured layouts of one job.
type chosenGroup struct {
	source string
	among  int     // layouts that differ
	longer float64 // logarithm by how much more than the others the chosen one took, against predictions
	ratio  float64 // logarithm of its measured over predicted step
	step   uncertainty.Normal
	ranged bool // step is its distribution: an engine of ndc stands for it
}

// inside reports whether the range of what is expected holds the chosen layout.
func (g *chosenGroup) inside(shift float64) bool { return holds(g.step, g.ratio-shift) }

// selected is the chosen layout of some rows that took one job each its own way:
// the one with the shortest prediction. Fewer than three layouts are no choice.
func selected(rows []*witness, record *uncertainty.Record) (g chosenGroup, ok bool) {
	different, mean, shortest := map[float64]bool{}, 0.0, math.Inf(1)
	var chosen *witness
	for _, w := range rows {
		predicted := math.Log(stepSeconds(w.x.row)) - w.ratio
		different[math.Round(1e6*predicted)] = true
		mean += w.ratio / float64(len(rows))
		if predicted < shortest {
			chosen, shortest = w, predicted
		}
	}
	if len(different) < 3 {
		return g, false
	}
	return chosenGroup{chosen.x.row.file, len(different), chosen.ratio - mean, chosen.ratio, chosen.under(record), true}, true
}

// groupsOf are the rows that are layouts of one model, batch and machine.
func groupsOf(rows []witness) (out [][]*witness) {
	groups := map[string][]*witness{}
	for i := range rows {
		x := rows[i].x
		k := fmt.Sprint(rows[i].model, x.layout.GPUs(), x.job.Training.GlobalBatchSize, x.job.Model.SequenceLength)
		groups[k] = append(groups[k], &rows[i])
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[name])
	}
	return out
}

// shiftOf fits what is expected of a layout that was chosen among as many as the
// grids compare: the means of grids and of groups, weighted by the squares of their
// errors.
func shiftOf(groups []chosenGroup) float64 {
	var kinds [2][]float64
	for i := range groups {
		kind := 0
		if groups[i].ranged {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], groups[i].longer)
	}
	sum, weights := 0.0, 0.0
	for _, all := range kinds {
		if mean, deviation := meanWithError(all); len(all) > 1 && deviation > 0 {
			sum, weights = sum+mean/(deviation*deviation), weights+1/(deviation*deviation)
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// scaled is a shift for a choice among another number than the grids compare.
func scaled(shift float64, among int) float64 {
	return shift * uncertainty.Largest(among) / uncertainty.Largest(1+runnersUp)
}

// gridGroups are the choices on grids of one framework, whose time no engine of
// ndc stands for.
func gridGroups(results []result) (out []chosenGroup) {
	for _, c := range cellsOf(results) {
		if c.far() || c.grid.OrderOnly == "" {
			continue
		}
		for _, longer := range optimism([]judgement{c.judge()}) {
			out = append(out, chosenGroup{source: c.tried[0].example.row.file, among: 1 + runnersUp, longer: longer})
		}
	}
	return out
}

// without are all groups that are not left out.
func without(groups []chosenGroup, out func(*chosenGroup) bool) []chosenGroup {
	return slices.DeleteFunc(slices.Clone(groups), func(g chosenGroup) bool { return out(&g) })
}

// printChosen tells how the layouts do that predictions would choose: of every
// group of at least three measured layouts of one model, batch and machine the
// one with the shortest prediction. A search is optimistic where such steps
// take longer, against their predictions, than the others of their groups.
func printChosen(w io.Writer, results []result, e *evidence, of []judged) {
	record := e.record("")
	members := groupsOf(e.rows)
	groups := gridGroups(results)
	var inside, after []bool
	var more, left []float64
	for _, m := range members {
		g, ok := selected(m, record)
		if !ok {
			continue
		}
		shift := uncertainty.Selection(g.among)
		inside, after = append(inside, g.inside(0)), append(after, g.inside(shift))
		more, left = append(more, g.longer), append(left, g.longer-shift)
		groups = append(groups, g)
	}
	if len(more) < 2 {
		return
	}
	longer, deviation := meanWithError(more)
	rest, _ := meanWithError(left)
	fmt.Fprintf(w, "\nOf %d groups of layouts of one model, batch and machine, %s of the predicted best lie inside their range. They took %+.1f %% longer, against\n"+
		"their predictions, than the mean of their group (standard error %.1f %%). With what is expected of a chosen layout it is %+.1f %%, and %s lie inside.\n",
		len(more), percentOf(inside), 100*longer, 100*deviation, 100*rest, percentOf(after))
	printLeftOut(w, groups)
	printSubsets(w, members, record, of)
}

// printLeftOut tells what is left of the optimism of chosen layouts: with nothing
// expected of it, with what all groups say, and with what the others say where a
// group or its source is left out.
func printLeftOut(w io.Writer, groups []chosenGroup) {
	fmt.Fprintf(w, "\nThe %.1f %% that are expected among %d layouts, fitted anew and judged by groups that had no part in it:\n\n"+
		"| fitted to | groups | shift | bias of grids | bias of groups | groups inside |\n|---|---|---|---|---|---|\n", 100*uncertainty.Selection(1+runnersUp), 1+runnersUp)
	for _, way := range []struct {
		name string
		fit  func(*chosenGroup) []chosenGroup
	}{
		{"nothing", func(*chosenGroup) []chosenGroup { return nil }},
		{"all groups", func(*chosenGroup) []chosenGroup { return groups }},
		{"all but the group", func(g *chosenGroup) []chosenGroup {
			return without(groups, func(o *chosenGroup) bool { return *o == *g })
		}},
		{"other sources", func(g *chosenGroup) []chosenGroup {
			return without(groups, func(o *chosenGroup) bool { return o.source == g.source })
		}},
	} {
		var biases [2][]float64
		var inside []bool
		low, high := math.Inf(1), math.Inf(-1)
		for i := range groups {
			g := &groups[i]
			shift := shiftOf(way.fit(g))
			low, high = min(low, shift), max(high, shift)
			own := scaled(shift, g.among)
			if !g.ranged {
				biases[0] = append(biases[0], g.longer-own)
				continue
			}
			biases[1], inside = append(biases[1], g.longer-own), append(inside, g.inside(own))
		}
		text := fmt.Sprintf("%.1f %%", 100*high)
		if high-low > 5e-4 {
			text = fmt.Sprintf("%.1f to %.1f %%", 100*low, 100*high)
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s |\n", way.name, len(groups), text, biasText(biases[0]), biasText(biases[1]), outOf(inside))
	}
}

func biasText(of []float64) string {
	mean, deviation := meanWithError(of)
	return fmt.Sprintf("%+.1f ± %.1f %%", 100*mean, 100*deviation)
}

// outOf is a share with what so few trials leave open: the shares under which
// as many or more, and as few or fewer, come about once in twenty (Clopper and
// Pearson 1934, Biometrika 26).
func outOf(of []bool) string {
	hits := 0
	for _, in := range of {
		if in {
			hits++
		}
	}
	low, high := clopperPearson(hits, len(of), 0.1)
	return fmt.Sprintf("%d of %d (%.0f to %.0f %%)", hits, len(of), 100*low, 100*high)
}

// clopperPearson is the interval of a share of which some of n trials are true,
// both tails together a probability.
func clopperPearson(hits, n int, tails float64) (low, high float64) {
	atMost := func(k int, p float64) (sum float64) {
		for i := 0; i <= k; i++ {
			a, _ := math.Lgamma(float64(n + 1))
			b, _ := math.Lgamma(float64(i + 1))
			c, _ := math.Lgamma(float64(n - i + 1))
			sum += math.Exp(a-b-c) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
		}
		return sum
	}
	solve := func(is func(p float64) bool) float64 { // the least p at which it is so
		low, high := 0.0, 1.0
		for range 50 {
			if p := (low + high) / 2; is(p) {
				high = p
			} else {
				low = p
			}
		}
		return high
	}
	high = 1
	if hits > 0 {
		low = solve(func(p float64) bool { return 1-atMost(hits-1, p) >= tails/2 })
	}
	if hits < n {
		high = solve(func(p float64) bool { return atMost(hits, p) <= tails/2 })
	}
	return low, high
}

// halves is how many subsets of each group are drawn; their numbers are always the
// same.
const halves = 200

// printSubsets lets predictions choose among random halves of each group, three
// layouts at least: more choices than groups, of the same rows.
func printSubsets(w io.Writer, members [][]*witness, record *uncertainty.Record, of []judged) {
	random := rand.New(rand.NewPCG(1, 2))
	var shares, biases []float64
	all := 0
	for _, m := range members {
		if _, ok := selected(m, record); !ok {
			continue
		}
		inside, sum, n := 0.0, 0.0, 0.0
		for range halves {
			half := slices.Clone(m)
			random.Shuffle(len(half), func(i, k int) { half[i], half[k] = half[k], half[i] })
			g, ok := selected(half[:max(3, len(half)/2)], record)
			if !ok {
				continue
			}
			shift := uncertainty.Selection(g.among)
			n, sum = n+1, sum+g.longer-shift
			if g.inside(shift) {
				inside++
			}
		}
		if n > 0 {
			shares, biases = append(shares, inside/n), append(biases, sum/n)
			all += int(n)
		}
	}
	if len(shares) < 2 {
		return
	}
	share, deviation := meanWithError(shares)
	bias, beside := meanWithError(biases)
	fmt.Fprintf(w, "\nAmong random halves of each group (%d draws of three layouts or more, weighted by group) %.0f ± %.0f %% of the chosen layouts lie inside, and\n"+
		"%+.1f ± %.1f %% of their step is left; of all %d rows %s lie inside.\n", all, 100*share, 100*deviation, 100*bias, 100*beside, len(of), insideOf(of))
}

func insideOf(of []judged) string {
	inside, _, _ := gather(of, nil)
	return percentOf(inside)
}

// meanWithError is the mean of some numbers and its standard error.
func meanWithError(of []float64) (mean, deviation float64) {
	var squares float64
	for _, x := range of {
		mean, squares = mean+x/float64(len(of)), squares+x*x/float64(len(of))
	}
	return mean, math.Sqrt(max(0, squares-mean*mean) / float64(max(len(of)-1, 1)))
}
