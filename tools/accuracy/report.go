package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// table collects relative errors by name, in order of first appearance.
type table struct {
	names  []string
	errors map[string][]float64
}

func (t *table) add(name string, e float64) {
	if _, ok := t.errors[name]; !ok {
		t.names = append(t.names, name)
	}
	t.errors[name] = append(t.errors[name], e)
}

// tabulate sorts the errors of all rows into a table, hybrid models and rows
// whose layout is uncertain apart.
func tabulate(results []result) *table {
	t := &table{errors: map[string][]float64{}}
	for i := range results {
		r := &results[i]
		if r.Time != nil {
			e := r.Time.PredictedSeconds/r.Time.MeasuredSeconds - 1
			switch {
			case r.example.row.hybrid():
				t.add("time   hybrid models", e)
			case r.apart:
				t.add("time   layout uncertain", e)
			case r.judge:
				t.add("time   "+r.Source+", in no fit", e)
			default:
				t.add("time   "+r.Source+" "+class(r), e)
				t.add("time   everything", e)
			}
		}
		if m := r.Memory; m != nil && m.PredictedBytes > 0 {
			t.add("memory "+r.Source+" "+m.Definition, m.PredictedBytes/m.MeasuredBytes-1)
		}
	}
	slices.Sort(t.names)
	return t
}

// report prints the table per source and overall, order and regret, the fit
// verdicts, the worst rows, and why rows were skipped.
func report(w io.Writer, results []result, worst int) {
	t := tabulate(results)
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "what\tn\tmedian %\tmean %\tp90 %\tmax %\tbias %")
	for _, n := range t.names {
		s := summarise(t.errors[n])
		fmt.Fprintf(out, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%+.1f\n", n, s.n, s.median, s.mean, s.p90, s.max, s.bias)
	}
	out.Flush()
	if o := order(results); o.pairs > 0 {
		fmt.Fprintf(w, "order: %d of %d pairs that differ by more than 5 %%, %d of %d without one configuration twice; regret over %d groups: median %.3f, p90 %.3f\n",
			o.right, o.pairs, o.rightDistinct, o.distinct, len(o.regrets), quantile(o.regrets, 0.5), quantile(o.regrets, 0.9))
	}
	verdicts(w, results)
	listWorst(w, results, worst)
	listSkipped(w, results)
}

// verdicts prints the counts of verdictCounts.
func verdicts(w io.Writer, results []result) {
	ran, fits, out, caught := verdictCounts(results)
	fmt.Fprintf(w, "rows that ran and are called feasible: %d of %d; rows out of memory and called infeasible: %d of %d\n", fits, ran, caught, out)
}

// verdictCounts counts rows that ran and are more likely feasible than not, and
// rows that ran out of memory and are not called feasible.
func verdictCounts(results []result) (ran, fits, out, caught int) {
	for i := range results {
		switch v := results[i].Verdict; {
		case v == nil || results[i].apart || results[i].judge:
		case v.Ran:
			ran++
			if v.Likely {
				fits++
			}
		default:
			out++
			if !v.Feasible {
				caught++
			}
		}
	}
	return ran, fits, out, caught
}

// listSkipped counts the skipped rows by reason.
func listSkipped(w io.Writer, results []result) {
	skipped, assumed := map[string]int{}, 0
	for i := range results {
		if results[i].Status == "predicted" && results[i].example.assumed {
			assumed++
		}
		if results[i].Status == "skipped" {
			skipped[results[i].Reason]++
		}
	}
	if assumed > 0 {
		fmt.Fprintf(w, "predicted %d with an assumed cluster and framework: nothing is known but the GPU\n", assumed)
	}
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(w, "skipped %d: %s\n", skipped[reason], reason)
	}
}

// order compares layouts measured under the same limits: the same model,
// sequence, GPUs, precision and batch of one source. It counts the pairs whose
// measured times differ by more than 5 % and how many of them the prediction
// puts in the same order; and per group, the measured time of the layout that
// the prediction prefers over the best measured.
func order(results []result) *ordering {
	o := &ordering{}
	groups := map[string][]*result{}
	for i := range results {
		r := &results[i]
		if r.Time == nil || r.apart || r.judge {
			continue
		}
		x := r.example.row
		k := fmt.Sprint(r.Source, x.Model.Name, x.Model.Layers, x.Model.SeqLen, x.Cluster.GPU, x.Cluster.GPUs, x.Precision, x.Layout.GBS)
		groups[k] = append(groups[k], r)
	}
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		chosen, best := g[0].Time, g[0].Time.MeasuredSeconds
		for i, a := range g {
			if a.Time.PredictedSeconds < chosen.PredictedSeconds {
				chosen = a.Time
			}
			best = min(best, a.Time.MeasuredSeconds)
			for _, b := range g[:i] {
				o.compare(a, b)
			}
		}
		o.regrets = append(o.regrets, chosen.MeasuredSeconds/best)
	}
	slices.Sort(o.regrets)
	return o
}

// class tells dense from mixture of experts, and releases whose way of
// communicating is gone.
func class(r *result) string {
	name := "moe"
	if dense(r) {
		name = "dense"
	}
	if r.example.superseded {
		name += ", superseded"
	}
	return name
}

// summary describes relative errors in per cent.
type summary struct {
	n                            int
	median, mean, p90, max, bias float64
}

func summarise(errors []float64) summary {
	var abs []float64
	sum, signed := 0.0, 0.0
	for _, e := range errors {
		abs = append(abs, 100*math.Abs(e))
		sum += 100 * math.Abs(e)
		signed += 100 * e
	}
	slices.Sort(abs)
	n := len(abs)
	return summary{n, quantile(abs, 0.5), sum / float64(n), quantile(abs, 0.9), abs[n-1], signed / float64(n)}
}

// quantile interpolates in ascending values.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// listWorst prints the rows with the largest errors of step time.
func listWorst(w io.Writer, results []result, n int) {
	for _, r := range worstRows(results, n) {
		fmt.Fprintf(w, "%+7.1f %%  %s  predicted %.3f s, measured %.3f s\n", 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), r.ID, r.Time.PredictedSeconds, r.Time.MeasuredSeconds)
	}
}

// worstRows are those with the largest errors of step time.
func worstRows(results []result, n int) []*result {
	var timed []*result
	for i := range results {
		if results[i].Time != nil && !results[i].judge {
			timed = append(timed, &results[i])
		}
	}
	slices.SortStableFunc(timed, func(a, b *result) int { return -cmp.Compare(off(a), off(b)) })
	return timed[:min(n, len(timed))]
}

// off is the size of a row's error, the same for half and for double.
func off(r *result) float64 {
	return math.Abs(math.Log(r.Time.PredictedSeconds / r.Time.MeasuredSeconds))
}
