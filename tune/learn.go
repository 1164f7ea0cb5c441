package tune

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
)

// How far measuring the same again differs; all in the logarithm of the time of a
// step.
const (
	// allocation is the spread between allocations: other nodes, other neighbours.
	// Repeats of one configuration differ by 5 % at best in grids that were measured
	// in many allocations (testdata/measured/README.md).
	allocation = 0.05
	// drift is the spread of what a machine changes from the first run of an
	// allocation to the last, and repeat that of one run beside it. Both are choices.
	drift  = 0.02
	repeat = 0.01
)

// Run is what one run of a candidate showed.
type Run struct {
	Allocation int     // runs of one share their nodes; counted from 0
	Candidate  int     // place in the list
	At         float64 // when, from 0 for the first run of the round to 1 for the last
	Seconds    float64 // of a steady step
	Spread     float64 // standard error of that, as a share
}

// Learn is what is known of the times of candidates after runs. What an allocation
// has for itself, and how it changes while it lasts, are unknowns beside them.
func Learn(known *uncertainty.Joint, runs []Run) *uncertainty.Joint {
	n := len(known.Mean)
	after := known.Clone()
	allocations := 0
	for i := range runs {
		allocations = max(allocations, runs[i].Allocation+1)
	}
	for range allocations {
		after.Add(allocation)
		after.Add(drift)
	}
	for i := range runs {
		r := &runs[i]
		weights := make([]float64, len(after.Mean))
		weights[r.Candidate] = 1
		weights[n+2*r.Allocation], weights[n+2*r.Allocation+1] = 1, r.At-0.5
		after.Observe(weights, math.Log(r.Seconds), math.Hypot(repeat, r.Spread))
	}
	after.Mean = after.Mean[:n]
	after.Covariance = after.Covariance[:n]
	for i := range after.Covariance {
		after.Covariance[i] = after.Covariance[i][:n]
	}
	return after
}
