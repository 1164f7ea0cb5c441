// Package uncertainty says how far a predicted step can be trusted, and how far
// the difference of two predicted steps can.
//
// A step is a sum of terms (GEMMs, attention, links, …). Each has an error
// in its logarithm that all layouts on one machine share; beside it stand an
// error that all layouts of one model share, and each layout's own. So two
// layouts that spend their time on the same things differ far more certainly
// than either is known. The spreads are data (data/prior.json), fitted by
// tools/accuracy to measured steps that had no part in the parameters, and grow
// with the distance of a job from what was measured. What was measured on a
// machine narrows them ([Prior.Update]).
//
// It predicts nothing: package estimate makes the terms of a step, package
// search chooses among layouts, package calibration reads what was measured. The
// formulas stand in docs/uncertainty.md.
package uncertainty

import (
	"math"

	"github.com/ndc-dev/ndc/lang/units"
)

// Term is a part of a step whose relative error is one number on a machine.
type Term uint8

// The terms of a step. Recomputed passes and the idle time of a pipeline belong
// to the terms of the work that they repeat or wait for.
const (
	Linear     Term = iota // dense GEMMs, embedding and head
	Grouped                // expert GEMMs
	Linear8                // dense GEMMs, embedding and head where a job computes in 8 bits or fewer
	Grouped8               // its expert GEMMs
	Attention              // attention kernels
	Bandwidth              // kernels bound by memory bandwidth, the optimizer among them
	HostUpdate             // the optimizer where the host runs it
	Host                   // what the host takes to launch work
	Overlap                // compute slowed by communication that runs behind it
	NVLink                 // exposed communication within an NVLink domain
	Network                // exposed communication between nodes
	PCIe                   // exposed communication within a node without NVLink, and between GPU and host
	Straggler              // waiting for the slowest rank
	Count                  // how many terms there are
)

// names are the terms in data files, and in words.
var names = [Count]struct{ id, words string }{
	Linear:     {"linear", "dense GEMMs"},
	Grouped:    {"grouped", "expert GEMMs"},
	Linear8:    {"linear8", "dense GEMMs in 8 bits"},
	Grouped8:   {"grouped8", "expert GEMMs in 8 bits"},
	Attention:  {"attention", "attention"},
	Bandwidth:  {"bandwidth", "memory-bound kernels"},
	HostUpdate: {"host_update", "the optimizer on the host"},
	Host:       {"host", "host and launch overhead"},
	Overlap:    {"overlap", "compute beside communication"},
	NVLink:     {"nvlink", "communication over NVLink"},
	Network:    {"network", "communication between nodes"},
	PCIe:       {"pcie", "communication over PCIe"},
	Straggler:  {"straggler", "waiting for the slowest rank"},
}

// String is the name of a term as data files write it.
func (t Term) String() string { return names[t].id }

// Words is what a term is called in messages.
func (t Term) Words() string { return names[t].words }

// Computes reports whether a term is one of kernels that passes repeat where
// activations are recomputed.
func (t Term) Computes() bool { return t <= Bandwidth }

// In is the term that a job of some precision has instead. Its kernels in 8 bits or
// fewer are others than those in 16 bits, quantise as its engine does, and reach a
// rate of their own: what is known of one width says nothing of the other.
func (t Term) In(precision string) Term {
	switch {
	case !narrow(precision):
	case t == Linear:
		return Linear8
	case t == Grouped:
		return Grouped8
	}
	return t
}

// Terms is what a step spends on each term.
type Terms [Count]units.Seconds

// In is what a job of some precision spends, of terms that do not tell widths apart.
func (t *Terms) In(precision string) (of Terms) {
	for k, s := range t {
		of[Term(k).In(precision)] += s
	}
	return of
}

// Sum is the step time.
func (t *Terms) Sum() units.Seconds {
	var sum units.Seconds
	for _, s := range t {
		sum += s
	}
	return sum
}

// Exposed is the share of the step that is communication on its critical path.
func (t *Terms) Exposed() float64 {
	sum := t.Sum()
	if sum <= 0 {
		return 0
	}
	return float64((t[NVLink] + t[Network] + t[PCIe]) / sum)
}

// Step is a predicted step as its uncertainty needs it.
type Step struct {
	Terms  Terms
	Beyond float64 // of [Envelope.Beyond]: doublings of its degrees beyond what was measured
}

// Normal is a normal distribution of the logarithm of a ratio of times.
type Normal struct {
	Mean   float64
	Spread float64 // standard deviation
}

// Below is the probability of the ratio being less than a positive number.
func (n Normal) Below(ratio float64) float64 {
	if n.Spread == 0 {
		if n.Mean < math.Log(ratio) {
			return 1
		}
		return 0
	}
	return cumulative((math.Log(ratio) - n.Mean) / n.Spread)
}

// Quantile is the ratio below which it lies with a probability between 0 and 1.
func (n Normal) Quantile(probability float64) float64 {
	return math.Exp(n.Mean + n.Spread*Deviations(probability))
}

// Expected is the expectation of the ratio.
func (n Normal) Expected() float64 { return math.Exp(n.Mean + n.Spread*n.Spread/2) }

// Range is the range that holds the ratio with a probability, as much of it on
// either side.
func (n Normal) Range(probability float64) [2]float64 {
	return [2]float64{n.Quantile((1 - probability) / 2), n.Quantile((1 + probability) / 2)}
}

// Deviations is how many standard deviations above the mean a normal variable
// lies below with a probability.
func Deviations(probability float64) float64 { return math.Sqrt2 * math.Erfinv(2*probability-1) }

// cumulative is the distribution function of the standard normal distribution.
func cumulative(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
