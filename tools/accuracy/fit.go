package main

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// fitParameters moves the named parameters within their bounds, one at a time,
// to the smallest mean absolute logarithm of predicted over measured step time
// over all rows whose layout is certain. It knows no row, source or model.
func fitParameters(examples []example, p estimate.Parameters, names []string) estimate.Parameters {
	bounds := map[string]estimate.Parameter{}
	for _, r := range estimate.ParameterRecords() {
		bounds[r.Name] = r
	}
	best := loss(examples, p)
	for step := 0.2; step > 0.02; step /= 2 {
		for pass, improved := 0, true; improved && pass < 3; pass++ {
			improved = false
			for _, n := range names {
				if q, l := nudge(examples, p, bounds[n], step); l < best-1e-5 {
					best, p, improved = l, q, true
				}
			}
		}
		fmt.Fprintf(os.Stderr, "step %.3f: mean logarithm %.4f\n", step, best)
	}
	return p
}

// leaveOut gives the rows of one source no weight in a fit.
func leaveOut(examples []example, source string) {
	for i := range examples {
		if source != "" && strings.TrimSuffix(examples[i].row.file, ".jsonl") == source {
			examples[i].weight = 0
		}
	}
}

// nudge tries a parameter a step up and a step down, within its bounds.
func nudge(examples []example, p estimate.Parameters, of estimate.Parameter, step float64) (estimate.Parameters, float64) {
	best, least := p, math.Inf(1)
	for _, factor := range []float64{1 + step, 1 / (1 + step)} {
		v := min(max(p[of.Name]*factor, of.Low), of.High)
		if v == p[of.Name] {
			continue
		}
		q := p.With(of.Name, v)
		if l := loss(examples, q); l < least {
			best, least = q, l
		}
	}
	return best, least
}

// loss is the mean absolute logarithm of the ratio, in two halves at once.
func loss(examples []example, p estimate.Parameters) float64 {
	half := len(examples) / 2
	done := make(chan [2]float64)
	for _, part := range [][]example{examples[:half], examples[half:]} {
		go func() { done <- partialLoss(part, p) }()
	}
	a, b := <-done, <-done
	return (a[0] + b[0]) / (a[1] + b[1])
}

// partialLoss sums the absolute logarithms and counts them.
func partialLoss(examples []example, p estimate.Parameters) (sum [2]float64) {
	for i := range examples {
		x := &examples[i]
		t := stepSeconds(x.row)
		if x.skip != "" || x.row.LayoutUncertain || t == 0 {
			continue
		}
		if x.evaluator == nil {
			x.evaluator = estimate.NewWith(x.job, x.target, p)
		}
		e := x.evaluator
		e.Use(p)
		sum[0] += x.weight * math.Abs(math.Log(float64(e.Step(&x.layout, &x.exec))/t))
		sum[1] += x.weight
	}
	return sum
}
