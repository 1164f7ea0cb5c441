package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"reflect"
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
	for o := range option.Options {
		first := len(list)
		for i := range results {
			for k := range i {
				list = withPair(list, first, &option.Options[o], &results[k], &results[i])
			}
		}
		slices.SortStableFunc(list[first:], func(a, b gain) int {
			return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
		})
	}
	return list
}

// withPair adds two rows to the gains of an option, which begin at first, if they differ
// in it alone.
func withPair(list []gain, first int, o *option.Option, a, b *result) []gain {
	from, to := o.Text(&a.example.exec), o.Text(&b.example.exec)
	if from == to || !differInOne(a, b) {
		return list
	}
	if later(o, from, to) {
		a, b, from, to = b, a, to, from
	}
	g := gain{option: o.Name, from: from, to: to, gpu: a.example.job.Cluster.GPU.Catalog}
	at := slices.IndexFunc(list[first:], func(x gain) bool { return x.from == from && x.to == to && x.gpu == g.gpu })
	if at < 0 {
		list, at = append(list, g), len(list)-first
	}
	x := &list[first+at]
	x.measured = append(x.measured, a.Time.MeasuredSeconds/b.Time.MeasuredSeconds)
	x.predicted = append(x.predicted, a.Time.PredictedSeconds/b.Time.PredictedSeconds)
	return list
}

// later reports whether the first of two values of an option is the one that does more.
func later(o *option.Option, from, to string) bool {
	if i, k := slices.Index(o.Values, from), slices.Index(o.Values, to); i >= 0 && k >= 0 {
		return i > k
	}
	return from > to && from != "none" || to == "none"
}

// differInOne reports whether two rows were predicted and are of one source, job and
// layout, and of executions that differ in one option.
func differInOne(a, b *result) bool {
	x, y := a.example, b.example
	if a.Time == nil || b.Time == nil || a.apart || b.apart || a.Source != b.Source || x.superseded || y.superseded || x.memoryOnly || y.memoryOnly ||
		samples(x) != samples(y) || !reflect.DeepEqual(x.layout, y.layout) {
		return false
	}
	n := 0
	for o := range option.Options {
		if p := &option.Options[o]; p.Text(&x.exec) != p.Text(&y.exec) {
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
