package tune

import (
	_ "embed"
	"math"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/facts"
)

// noise is how far measuring the same again differs; all in the logarithm of the
// time of a step.
var noise = facts.One[struct {
	Allocation float64 `json:"allocation"` // between allocations: other nodes, other neighbours
	Drift      float64 `json:"drift"`      // what a machine changes from the first run of an allocation to the last
	Repeat     float64 `json:"repeat"`     // of one run beside it

	AllocationSource string `json:"allocation_source"`
	Choice           string `json:"choice"` // what nobody measured
}]("tune: data/noise.json", noiseData)

//go:embed data/noise.json
var noiseData string

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
		after.Add(noise.Allocation)
		after.Add(noise.Drift)
	}
	for i := range runs {
		r := &runs[i]
		weights := make([]float64, len(after.Mean))
		weights[r.Candidate] = 1
		weights[n+2*r.Allocation], weights[n+2*r.Allocation+1] = 1, r.At-0.5
		after.Observe(weights, math.Log(r.Seconds), math.Hypot(noise.Repeat, r.Spread))
	}
	after.Mean = after.Mean[:n]
	after.Covariance = after.Covariance[:n]
	for i := range after.Covariance {
		after.Covariance[i] = after.Covariance[i][:n]
	}
	return after
}
