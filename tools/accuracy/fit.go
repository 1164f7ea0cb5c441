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
	for _, n := range names {
		println(n, int(p[n]*1e6), "e-6")
	}
	return p
}

// loss is the mean absolute logarithm of the ratio.
func loss(examples []example, p estimate.Parameters) float64 {
	sum, n := 0.0, 0
	for i := range examples {
		x := &examples[i]
		if x.skip != "" || x.row.LayoutUncertain {
			continue
		}
		t := stepSeconds(x.row)
		if t == 0 {
			continue
		}
		var out estimate.Result
		estimate.NewWith(x.job, x.target, p).Evaluate(&x.layout, &x.exec, &out)
		sum += math.Abs(math.Log(float64(out.StepSeconds) / t))
		n++
	}
	return sum / float64(n)
}
