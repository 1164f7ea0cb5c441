package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
)

// sample is one measurement against its roof.
type sample struct {
	seconds float64
	roof    float64
	at      surface.Point // in the grid
}

// target is the logarithm of the correction that the sample asks for.
func (s *sample) target() float64 { return math.Log(s.seconds / s.roof) }

// smoothnesses are tried for each surface as the weight of a squared second
// difference between grid nodes against a squared error: small enough to bend,
// large enough to bridge nodes without measurements, of which there are many
// where a surface has few rows.
var smoothnesses = [...]float64{0.05, 0.5}

// robustRounds of reweighting turn least squares into nearly least absolute
// errors, so that single bad kernels do not bend a surface.
const robustRounds = 6

// fitGrid finds the node values for the samples. The result's order is that
// of surface.Grid.
func fitGrid(axes [][]float64, samples []sample, smoothness float64) []float64 {
	grid := surface.Grid{Axes: axes}
	stencils := make([][]surface.Weight, len(samples))
	for i := range samples {
		stencils[i] = grid.Weights(samples[i].at, nil)
	}
	weights := slices.Repeat([]float64{1}, len(samples))
	var values []float64
	for range robustRounds {
		system := newSystem(axes, smoothness)
		for i := range samples {
			system.add(stencils[i], samples[i].target(), weights[i])
		}
		values = system.solve()
		for i := range samples {
			weights[i] = 1 / max(0.02, math.Abs(apply(stencils[i], values)-samples[i].target()))
		}
	}
	return values
}

// apply evaluates the nodes that a sample depends on.
func apply(stencil []surface.Weight, values []float64) float64 {
	sum := 0.0
	for _, w := range stencil {
		sum += w.Share * values[w.Node]
	}
	return sum
}

// folds is the number of parts that are left out in turn.
const folds = 5

// validate fits to four fifths of the samples and measures the error on the
// rest, for each fifth of a fixed shuffle.
func validate(axes [][]float64, samples []sample, smoothness float64) surface.Error {
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(samples))
	grid := surface.Grid{Axes: axes}
	var errors []float64
	for fold := range folds {
		var fitted, left []sample
		for i, j := range order {
			if i%folds == fold {
				left = append(left, samples[j])
			} else {
				fitted = append(fitted, samples[j])
			}
		}
		values := fitGrid(axes, fitted, smoothness)
		for i := range left {
			s := &left[i]
			predicted := math.Exp(apply(grid.Weights(s.at, nil), values)) * s.roof
			errors = append(errors, math.Abs(predicted/s.seconds-1))
		}
	}
	return summarise(errors)
}

// summarise takes the median, the 90th percentile and the largest error.
func summarise(errors []float64) surface.Error {
	slices.Sort(errors)
	n := len(errors)
	if n == 0 {
		return surface.Error{}
	}
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	return surface.Error{Count: n, Median: round(errors[n/2]), P90: round(errors[n*9/10]), Max: round(errors[n-1])}
}

// finish fits all samples, with the smoothness that predicts left-out ones
// best, and fills in the record.
func finish(r *surface.Record, axes [][]float64, samples []sample) *surface.Record {
	r.Rows, r.Axes = len(samples), axes
	best := smoothnesses[0]
	for i, smoothness := range smoothnesses {
		e := validate(axes, samples, smoothness)
		if i == 0 || score(&e) < score(&r.LeftOut) {
			r.LeftOut, best = e, smoothness
		}
	}
	for _, v := range fitGrid(axes, samples, best) {
		r.Values = append(r.Values, int16(math.Round(max(-32, min(32, v))*1000)))
	}
	return r
}
