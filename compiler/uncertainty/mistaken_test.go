package uncertainty

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/lang/units"
)

// TestMistaken: steps that spend little and more of themselves between nodes, on a
// machine whose network is an eighth of what its job says.
func TestMistaken(t *testing.T) {
	p := Embedded().At(&Embedded().Dense, Distance{})
	of := func(times float64) (list []Observation) {
		for i, network := range []float64{0.01, 0.02, 0.03, 0.05, 0.1} {
			o := Observation{Model: i % 2, Ratio: 1 - network + network*times}
			o.Step.Terms[Linear], o.Step.Terms[Network] = units.Seconds(1-0.97*network), units.Seconds(0.97*network) // what is said and what is differ a little
			list = append(list, o)
		}
		return list
	}
	if times, odds := p.Mistaken(of(8), Network); times < 6 || odds < fewestOdds {
		t.Errorf("an eighth of the network: %g times at odds of %g", times, odds)
	}
	if times, odds := p.Mistaken(of(1), Network); times != 1 || odds != 1 {
		t.Errorf("the network that the job says: %g times at odds of %g", times, odds)
	}
	if times, _ := p.Mistaken(of(1.3), Network); times != 1 {
		t.Errorf("a network that is slower by what spreads are made for: %g times", times)
	}
	odd := of(1)
	odd[2].Ratio = 2
	if times, _ := p.Mistaken(odd, Network); times != 1 {
		t.Errorf("one odd step: %g times", times)
	}
	benchmark := Observation{Ratio: 1.0 / 4, Benchmark: 0.3}
	benchmark.Step.Terms[Network] = 1
	if times, odds := p.Mistaken([]Observation{benchmark}, Network); times < 1.0/6 || times > 1.0/3 || odds < fewestOdds {
		t.Errorf("a benchmark that is four times as fast: %g times at odds of %g", times, odds)
	}
	seen := of(8)
	times, _ := p.Mistaken(seen, Network)
	if m := p.Times(Network, times).Others(seen).Ratio(&seen[4].Step).Mean; math.Abs(m-math.Log(seen[4].Ratio)) > 0.2*math.Log(seen[4].Ratio) {
		t.Errorf("a step like those that were %.2f times as long is expected %.2f times as long", seen[4].Ratio, math.Exp(m))
	}
	if m := p.Others(seen).Ratio(&seen[4].Step).Mean; m > 0.5*math.Log(seen[4].Ratio) {
		t.Errorf("without the hypothesis it is expected %.2f times as long", math.Exp(m))
	}
}
