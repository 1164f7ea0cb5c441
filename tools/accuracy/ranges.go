package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// judged is a row beside the range that it was given.
type judged struct {
	of     string  // what its line in a table is called
	inside bool    // the range held it
	strict bool    // so does one whose spreads were fitted without its source, too
	wide   float64 // half the width of the range, in logarithms

	predicted, expected float64 // by how much what is predicted is off, and what is expected without the source, in logarithms

	orderOnly bool // of a grid whose absolute times say nothing
}

// probability of what ranges hold.
const probability = 0.9

// judgeSpreads asks of each row whether it lies in its range: as far from what
// other sources measured as it is, with spreads fitted to all sources and to all others.
func (e *evidence) judgeSpreads(rows []witness) []judged {
	all := e.record("")
	var out []judged
	for i := range rows {
		w := &rows[i]
		n, others := w.under(all), w.under(e.record(w.source))
		out = append(out, judged{of: strings.TrimSuffix(w.source, ".jsonl") + kindOf(w), inside: holds(n, w.ratio), strict: holds(others, w.ratio), wide: n.Spread * wideness,
			predicted: math.Abs(w.ratio), expected: math.Abs(w.ratio - others.Mean), orderOnly: w.orderOnly()})
	}
	return out
}

// wideness is how many spreads a range goes to either side.
var wideness = math.Log(uncertainty.Normal{Spread: 1}.Range(probability)[1])

// under is the distribution that a record gives a row.
func (w *witness) under(r *uncertainty.Record) uncertainty.Normal {
	return r.At(r.Of(w.x.job), w.distance).Ratio(&w.step)
}

func holds(n uncertainty.Normal, ratio float64) bool {
	ends := n.Range(probability)
	return math.Exp(ratio) >= ends[0] && math.Exp(ratio) <= ends[1]
}

// What rows are of, behind the name of their source.
const denseRows, expertRows = ", dense", ", mixtures of experts"

func kindOf(w *witness) string {
	if w.moe() {
		return expertRows
	}
	return denseRows
}

// bySource are means over sources, of their rows of a kind: how many lie inside the range
// that other sources would give them, and by how much half of them are off.
type bySource struct {
	sources                     int
	inside, predicted, expected float64
}

func meansBySource(of []judged, kind string) (m bySource) {
	rows := map[string][]judged{}
	for i := range of {
		if j := &of[i]; strings.HasSuffix(j.of, kind) {
			rows[j.of] = append(rows[j.of], *j)
		}
	}
	m.sources = len(rows)
	median := func(of []judged, off func(*judged) float64) float64 {
		var list []float64
		for i := range of {
			list = append(list, off(&of[i]))
		}
		slices.Sort(list)
		return quantile(list, 0.5) / float64(m.sources)
	}
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		for i := range rows[source] {
			if rows[source][i].strict {
				m.inside += 1 / float64(len(rows[source])*m.sources)
			}
		}
		m.predicted += median(rows[source], func(j *judged) float64 { return j.predicted })
		m.expected += median(rows[source], func(j *judged) float64 { return j.expected })
	}
	return m
}

// printCoverage tells how often rows of sources left out of the fit lie inside
// their range, also inside the one that the other sources' rows alone would give
// them, and how wide the ranges are; and the same of rows that no fit sees.
func printCoverage(w io.Writer, results []result, e *evidence) {
	seen := e.judgeSpreads(e.rows)
	inside, strict, _ := gather(seen, nil)
	fmt.Fprintf(w, "%s of %d steps of sources left out of the fit lie inside their range, %s inside the range that the rows of\n"+
		"the other sources alone would give them.\n\n", percentOf(inside), len(seen), percentOf(strict))
	fmt.Fprintln(w, "| rows of | rows | inside | inside that of other sources | half the range, median |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	printRanges(w, seen, "")
	unseen := e.judgeSpreads(e.judges)
	printRanges(w, unseen, ", in no fit")
	unseen = slices.DeleteFunc(unseen, func(j judged) bool { return j.orderOnly })
	fmt.Fprintln(w, "\nEach source counting as one, but for grids whose times say nothing:\n\n| rows of | sources | inside that of other sources | off at the median of each: as predicted | as expected |\n|---|---|---|---|---|")
	for _, kind := range []string{denseRows, expertRows} {
		for _, of := range []struct {
			note string
			rows []judged
		}{{"", slices.Concat(seen, unseen)}, {", of the fit", seen}, {", in no fit", unseen}} {
			m := meansBySource(of.rows, kind)
			fmt.Fprintf(w, "| %s%s | %d | %.0f %% | %.1f %% | %.1f %% |\n", strings.TrimPrefix(kind, ", "), of.note, m.sources, 100*m.inside, 100*m.predicted, 100*m.expected)
		}
	}
	printChosen(w, results, e, seen)
}

// printRanges prints a line for each kind of row.
func printRanges(w io.Writer, of []judged, note string) {
	var done []string
	for _, j := range of {
		if slices.Contains(done, j.of) {
			continue
		}
		done = append(done, j.of)
		inside, strict, wide := gather(of, func(o *judged) bool { return o.of == j.of })
		fmt.Fprintf(w, "| %s%s | %d | %s | %s | %.0f %% |\n", j.of, note, len(inside), percentOf(inside), percentOf(strict), 100*math.Expm1(quantile(wide, 0.5)))
	}
}

// gather collects what some rows were judged, all without a condition.
func gather(of []judged, in func(*judged) bool) (inside, strict []bool, wide []float64) {
	for i := range of {
		if j := &of[i]; in == nil || in(j) {
			inside, strict, wide = append(inside, j.inside), append(strict, j.strict), append(wide, j.wide)
		}
	}
	slices.Sort(wide)
	return inside, strict, wide
}

// percentOf what is true.
func percentOf(of []bool) string {
	n := 0
	for _, b := range of {
		if b {
			n++
		}
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(max(1, len(of))))
}
