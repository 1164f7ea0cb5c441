package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// fewest is the number of rows below which a class of its own says nothing.
const fewest = 25

// spread is a step that was predicted by parameters fitted without its model.
type spread struct {
	x       *example
	fold    string  // the model
	ratio   float64 // measured over predicted
	outside bool    // of what the other models' rows measured
}

// spreadsOf pairs rows with their held-out predictions.
func spreadsOf(results []result, c *crossValidation) []spread {
	var out []spread
	for i := range results {
		r := &results[i]
		if v, ok := c.model[r.ID]; ok && r.Time != nil && !r.apart && !r.example.superseded {
			out = append(out, spread{x: r.example, fold: c.folds[r.ID], ratio: 1 / v})
		}
	}
	for i := range out {
		s := &out[i]
		class := estimate.Class(classes(without(out, s.fold)), s.x.job)
		s.outside = len(class.Measured.Outside(s.x.job, &s.x.layout, s.x.target.Runtime.Calibration.Time)) > 0
	}
	return out
}

// without are the rows of other models.
func without(spreads []spread, fold string) []spread {
	return slices.DeleteFunc(slices.Clone(spreads), func(s spread) bool { return s.fold == fold })
}

// classes are the classes with enough rows, and what their rows measured:
// dense models by GPU, mixtures of experts by precision, and of both each
// precision of a GPU.
func classes(spreads []spread) []estimate.Range {
	type key struct {
		gpu, precision string
		moe            bool
	}
	found := map[key]*estimate.Range{}
	for i := range spreads {
		j := spreads[i].x.job
		gpu, precision, moe := j.Cluster.GPU.Catalog, j.Training.Precision, j.Model.MoE != nil
		by := key{gpu, "", moe}
		if moe { // grouped products and their quantising differ more than GPUs do
			by = key{"", precision, moe}
		}
		for _, k := range [...]key{{"", "", moe}, by, {gpu, precision, moe}} {
			if found[k] == nil {
				found[k] = &estimate.Range{GPU: k.gpu, Precision: k.precision, MoE: k.moe}
			}
			found[k].Rows++
			found[k].Measured.Add(j, &spreads[i].x.layout, spreads[i].x.target.Runtime.Calibration.Time)
		}
	}
	var out []estimate.Range
	for _, r := range found {
		if r.Rows >= fewest || r.GPU+r.Precision == "" {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b estimate.Range) int {
		return slices.Compare([]string{fmt.Sprint(a.MoE), a.GPU, a.Precision}, []string{fmt.Sprint(b.MoE), b.GPU, b.Precision})
	})
	return out
}

// rangesOf gives each class its range: of its rows, those of a smaller class
// left out where enough remain, and beyond what was measured of all rows of
// dense models or mixtures of experts that lay beyond what the others measured.
func rangesOf(spreads []spread) []estimate.Range {
	out := classes(spreads)
	for i := range out {
		r := &out[i]
		var own, all, beyond []float64
		for k := range spreads {
			s := &spreads[k]
			j := s.x.job
			if r.MoE != (j.Model.MoE != nil) {
				continue
			}
			if s.outside {
				beyond = append(beyond, s.ratio)
			}
			if (r.GPU == "" || r.GPU == j.Cluster.GPU.Catalog) && (r.Precision == "" || r.Precision == j.Training.Precision) {
				all = append(all, s.ratio)
			}
			if estimate.Class(out, j) == r {
				own = append(own, s.ratio)
			}
		}
		if len(own) < fewest {
			own = all
		}
		r.Inside, r.Beyond = ends(own), ends(beyond)
		r.Beyond = [2]float64{min(r.Beyond[0], r.Inside[0]), max(r.Beyond[1], r.Inside[1])}
		r.Source = fmt.Sprintf("measured over predicted time of %d published steps, each predicted by parameters fitted without its model (testdata/measured)", r.Rows)
	}
	return out
}

// tail is what is left out at either end of a range. Rows of one model go
// together, so that a further model needs more than the 5 % that a further row
// would: with 4 %, close to 90 % of the rows of models without a part in
// anything lie inside.
const tail = 0.04

// ends are the ends of the range of a further value; they enclose the
// prediction itself.
func ends(ratios []float64) [2]float64 {
	if len(ratios) == 0 {
		return [2]float64{1, 1}
	}
	slices.Sort(ratios)
	n := float64(len(ratios))
	q := min(0.5, max(0, (tail*(n+1)-1)/max(1, n-1)))
	round := func(v float64) float64 { return math.Round(1000*v) / 1000 }
	return [2]float64{round(min(1, quantile(ratios, q))), round(max(1, quantile(ratios, 1-q)))}
}

// inside says of each row whether it lies in the range of its class.
func inside(spreads []spread, ranges func(*spread) []estimate.Range) (covered []bool) {
	for i := range spreads {
		s := &spreads[i]
		span, _ := estimate.Class(ranges(s), s.x.job).Of(s.x.job, &s.x.layout, s.x.target.Runtime.Calibration.Time)
		covered = append(covered, s.ratio >= span[0] && s.ratio <= span[1])
	}
	return covered
}

// ofOthers are the ranges that the rows of other models alone give.
func ofOthers(spreads []spread) func(*spread) []estimate.Range {
	byFold := map[string][]estimate.Range{}
	return func(s *spread) []estimate.Range {
		if byFold[s.fold] == nil {
			byFold[s.fold] = rangesOf(without(spreads, s.fold))
		}
		return byFold[s.fold]
	}
}

// share of what is true.
func share(of []bool) float64 {
	n := 0
	for _, b := range of {
		if b {
			n++
		}
	}
	return float64(n) / float64(max(1, len(of)))
}

// writeRanges prints compiler/estimate/data/ranges.json.
func writeRanges(w io.Writer, spreads []spread) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rangesOf(spreads))
}

// printCoverage tells how often rows of models left out of the fit lie inside
// the range of their class, also inside that of the other models' rows alone,
// and how wide the ranges are.
func printCoverage(w io.Writer, spreads []spread) {
	ranges := rangesOf(spreads)
	covered := inside(spreads, func(*spread) []estimate.Range { return ranges })
	strict := inside(spreads, ofOthers(spreads))
	fmt.Fprintf(w, "%.0f %% of %d steps of models left out of the fit lie inside the range of their class, %.0f %% inside the range that the\n"+
		"rows of the other models alone would give them.\n\n", 100*share(covered), len(spreads), 100*share(strict))
	fmt.Fprintln(w, "| class | rows | inside | inside that of other models | range inside what was measured | range beyond |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for i := range ranges {
		r := &ranges[i]
		var in, other []bool
		for k := range spreads {
			if estimate.Class(ranges, spreads[k].x.job) == r {
				in, other = append(in, covered[k]), append(other, strict[k])
			}
		}
		if len(in) > 0 {
			fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s |\n", className(r), len(in), percentOf(in), percentOf(other), width(r.Inside), width(r.Beyond))
		}
	}
}

// width writes a range.
func width(r [2]float64) string { return fmt.Sprintf("%+.0f to %+.0f %%", 100*r[0]-100, 100*r[1]-100) }

func percentOf(of []bool) string {
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*share(of))
}

// className says what a class holds.
func className(r *estimate.Range) string {
	kind := "dense"
	if r.MoE {
		kind = "mixtures of experts"
	}
	parts := slices.DeleteFunc([]string{kind, r.GPU, r.Precision}, func(s string) bool { return s == "" })
	if len(parts) < 3 {
		parts = append(parts, "other")
	}
	return strings.Join(parts, ", ")
}
