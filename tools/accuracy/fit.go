package main

import (
	"math"

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
	for step := 0.25; step > 0.01; step /= 2 {
		for improved := true; improved; {
			improved = false
			for _, n := range names {
				for _, factor := range []float64{1 + step, 1 / (1 + step)} {
					v := min(max(p[n]*factor, bounds[n].Low), bounds[n].High)
					if q := p.With(n, v); v != p[n] {
						if l := loss(examples, q); l < best-1e-6 {
							best, p, improved = l, q, true
						}
					}
				}
			}
		}
	}
	return p
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
		e := estimate.NewWith(x.job, x.target, p)
		sum[0] += x.weight * math.Abs(math.Log(float64(e.Step(&x.layout, &x.exec))/t))
		sum[1] += x.weight
	}
	return sum
}
