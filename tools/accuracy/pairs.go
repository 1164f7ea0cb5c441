package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/option"
)

// gain is by how much one option of execution made published steps faster: in pairs of
// rows of one source that differ in nothing else but perhaps their release.
type gain struct {
	option, from, to, gpu string
	measured, predicted   []float64 // times of the one over those of the other
}

// gains are those of all options that pairs of rows differ in, in the order of the
// registry.
func gains(results []result) (list []gain) {
	place := map[string]int{} // of what gained in the list
	groups := alike(results)
	for o := range option.Options {
		first := len(list)
		for _, group := range groups {
			for i, b := range group {
				for _, a := range group[:i] {
					if p := &option.Options[o]; differ(p, a, b) && onlyOne(a, b) {
						list = withPair(list, place, p, a, b)
					}
				}
			}
		}
		slices.SortStableFunc(list[first:], func(a, b gain) int {
			return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
	}
	return list
}

// alike are the rows that were predicted, those of one source, job and layout together.
func alike(results []result) (groups [][]*result) {
	place := map[string]int{}
	for i := range results {
		r := &results[i]
		if x := r.example; r.Time == nil || r.apart || x.superseded || x.memoryOnly {
			continue
		}
		k := fmt.Sprintf("%s %s %+v", r.Source, samples(r.example), r.example.layout)
		if _, seen := place[k]; !seen {
			place[k], groups = len(groups), append(groups, nil)
		}
		groups[place[k]] = append(groups[place[k]], r)
	}
	return groups
}

// withPair adds two rows to the gains of the option that they differ in.
func withPair(list []gain, place map[string]int, o *option.Option, a, b *result) []gain {
	from, to := o.Text(&a.example.exec), o.Text(&b.example.exec)
	if later(o, from, to) {
		a, b, from, to = b, a, to, from
	}
	g := gain{option: o.Name, from: from, to: to, gpu: a.example.job.Cluster.GPU.Catalog}
	k := g.option + " " + from + " " + to + " " + g.gpu
	if _, seen := place[k]; !seen {
		place[k], list = len(list), append(list, g)
	}
	x := &list[place[k]]
	x.measured = append(x.measured, a.Time.MeasuredSeconds/b.Time.MeasuredSeconds)
	x.predicted = append(x.predicted, a.Time.PredictedSeconds/b.Time.PredictedSeconds)
	return list
}

// later reports whether the first of two values of an option stands behind the second:
// in the order of the language, where values of parts come last, and false before true.
func later(o *option.Option, from, to string) bool {
	rank := func(value string) int {
		if i := slices.Index(o.Values, value); i >= 0 {
			return i
		}
		return len(o.Values)
	}
	return cmp.Or(rank(from)-rank(to), cmp.Compare(from, to)) > 0
}

func differ(o *option.Option, a, b *result) bool { return !o.Same(&a.example.exec, &b.example.exec) }

// onlyOne reports whether two rows differ in one option.
func onlyOne(a, b *result) bool {
	n := 0
	for o := range option.Options {
		if differ(&option.Options[o], a, b) {
			n++
		}
	}
	return n == 1
}

// samples names what a row trains on what.
func samples(x *example) string {
	j := x.job
	return fmt.Sprint(architecture(x), j.Model.Layers, j.Model.SequenceLength, j.Model.VocabSize, j.Cluster.GPU.Catalog, j.Cluster.GPUs(), x.row.Precision, j.Training.GlobalBatchSize, x.framework)
}

// printGains says what options gained in pairs of published runs, beside what is
// predicted.
func printGains(w io.Writer, results []result) {
	list := gains(results)
	fmt.Fprintf(w, "| option | from | to | GPU | pairs | gained | predicted |\n|---|---|---|---|---|---|---|\n")
	var off []float64
	for _, g := range list {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %d | %s | %s |\n", g.option, cmp.Or(g.from, "–"), cmp.Or(g.to, "–"), g.gpu, len(g.measured), shares(g.measured), shares(g.predicted))
		for i := range g.measured {
			off = append(off, math.Abs(math.Log(g.predicted[i]/g.measured[i])))
		}
	}
	slices.Sort(off)
	if len(off) > 0 {
		fmt.Fprintf(w, "\nPredicted gains are off by %.1f %% at the median of the %d pairs, and by %.1f %% at the 90th percentile.\n", 100*quantile(off, 0.5), len(off), 100*quantile(off, 0.9))
	}
}

// shares is the median of ratios as a gain, with the least and the most where there are
// several.
func shares(ratios []float64) string {
	r := slices.Sorted(slices.Values(ratios))
	s := fmt.Sprintf("%+.1f %%", 100*quantile(r, 0.5)-100)
	if len(r) > 1 {
		s += fmt.Sprintf(" (%+.1f to %+.1f)", 100*r[0]-100, 100*r[len(r)-1]-100)
	}
	return s
}
