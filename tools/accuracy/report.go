package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// report prints the table per source and overall, the worst rows, and why rows
// were skipped.
func report(w io.Writer, results []result, worst int) {
	groups := map[string][]float64{}
	var names []string
	add := func(name string, e float64) {
		if _, ok := groups[name]; !ok {
			names = append(names, name)
		}
		groups[name] = append(groups[name], e)
	}
	skipped := map[string]int{}
	ran, fits := 0, 0
	for i := range results {
		r := &results[i]
		if r.Status == "skipped" {
			skipped[r.Reason]++
			continue
		}
		if r.Time != nil {
			e := r.Time.PredictedSeconds/r.Time.MeasuredSeconds - 1
			if r.uncertain {
				add("time   layout uncertain", e)
			} else {
				add("time   "+r.Source+" "+class(r), e)
				add("time   everything", e)
			}
		}
		if m := r.Memory; m != nil && m.PredictedBytes > 0 {
			add("memory "+r.Source+" "+m.Definition, m.PredictedBytes/m.MeasuredBytes-1)
		}
		if r.Verdict != nil && r.Verdict.Ran {
			ran++
			if r.Verdict.Feasible {
				fits++
			}
		}
	}
	slices.Sort(names)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "what\tn\tmedian %\tmean %\tp90 %\tmax %\tbias %")
	for _, n := range names {
		s := summarise(groups[n])
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%+.1f\n", n, s.n, s.median, s.mean, s.p90, s.max, s.bias)
	}
	t.Flush()
	fmt.Fprintf(w, "rows that ran and are called feasible: %d of %d\n", fits, ran)
	listWorst(w, results, worst)
	var reasons []string
	for reason, n := range skipped {
		reasons = append(reasons, fmt.Sprintf("skipped %d: %s", n, reason))
	}
	slices.Sort(reasons)
	for _, s := range reasons {
		fmt.Fprintln(w, s)
	}
}

// class tells dense from mixture of experts.
func class(r *result) string {
	if r.example.job.Model.MoE != nil {
		return "moe"
	}
	return "dense"
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
	var timed []*result
	for i := range results {
		if results[i].Time != nil {
			timed = append(timed, &results[i])
		}
	}
	slices.SortStableFunc(timed, func(a, b *result) int { return -cmp.Compare(off(a), off(b)) })
	for _, r := range timed[:min(n, len(timed))] {
		fmt.Fprintf(w, "%+7.1f %%  %s  predicted %.3f s, measured %.3f s\n", 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), r.ID, r.Time.PredictedSeconds, r.Time.MeasuredSeconds)
	}
}

// off is the size of a row's error, the same for half and for double.
func off(r *result) float64 {
	return math.Abs(math.Log(r.Time.PredictedSeconds / r.Time.MeasuredSeconds))
}
