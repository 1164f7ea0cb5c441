package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// student95 are the 95 % points of Student's distribution with one degree of
// freedom and more (any table of it, such as Abramowitz and Stegun 1964, 26.10).
var student95 = [...]float64{6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753}

// biasBySource are the mean errors of sources that had no part in the fit,
// log of predicted over measured, of the rows that in selects. Rows of a source
// err together, so that each counts as one.
func biasBySource(results []result, c *crossValidation, judges bool, in func(*result) bool) map[string]float64 {
	sums, rows := map[string]float64{}, map[string]int{}
	for i := range results {
		r := &results[i]
		if r.example.skip != "" || r.apart || r.Time == nil || r.example.superseded || r.example.memoryOnly || r.orderOnly() || !in(r) {
			continue
		}
		ratio, left := c.source[r.ID]
		switch {
		case r.judge && judges:
			ratio = r.Time.PredictedSeconds / r.Time.MeasuredSeconds
		case r.judge || !left:
			continue
		}
		sums[r.Source] += math.Log(ratio)
		rows[r.Source]++
	}
	for source, n := range rows {
		sums[source] /= float64(n)
	}
	return sums
}

// interval is the mean of values and the half of its 90 % interval.
func interval(values []float64) (mean, half float64) {
	mean, deviation := meanWithError(values)
	return mean, deviation * student95[min(len(values)-1, len(student95))-1]
}

// printBias says how far predictions for sources that had no part in the fit are off
// in one direction.
func printBias(w io.Writer, results []result, c *crossValidation) {
	fmt.Fprintf(w, "\n| bias, each source counting as one | sources | mean | 90 %% interval | lowest | highest |\n|---|---|---|---|---|---|\n")
	for _, k := range []struct {
		name   string
		judges bool
		in     func(*result) bool
	}{
		{"everything, its source left out", false, func(*result) bool { return true }},
		{"everything, with the judges", true, func(*result) bool { return true }},
		{"dense models, with the judges", true, dense},
		{"mixtures, with the judges", true, not(dense)},
	} {
		by := biasBySource(results, c, k.judges, k.in)
		names := slices.Sorted(maps.Keys(by))
		if len(names) < 3 {
			continue
		}
		values := make([]float64, len(names))
		for i, name := range names {
			values[i] = by[name]
		}
		mean, half := interval(values)
		slices.SortFunc(names, func(a, b string) int { return int(math.Copysign(1, by[a]-by[b])) })
		first, last := names[0], names[len(names)-1]
		percent := func(x float64) string { return fmt.Sprintf("%+.1f %%", 100*(math.Exp(x)-1)) }
		fmt.Fprintf(w, "| %s | %d | %s | %s to %s | %s (%s) | %s (%s) |\n", k.name, len(names), percent(mean), percent(mean-half), percent(mean+half),
			percent(by[first]), first, percent(by[last]), last)
	}
}
