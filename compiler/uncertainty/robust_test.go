package uncertainty

import (
	"math"
	"testing"
)

// TestRobust: even steps say the same as to Update, but for a tenth; one odd step
// among them moves Update far, and Robust less than half as far.
func TestRobust(t *testing.T) {
	p := Embedded().At(&Embedded().Dense, Distance{})
	steps := func(odd float64) []Observation {
		var list []Observation
		for i := range 6 {
			o := Observation{Ratio: 1.05, Model: i}
			o.Step.Terms[Linear], o.Step.Terms[Network] = 0.7, 0.3
			if i == 0 {
				o.Ratio = odd
			}
			list = append(list, o)
		}
		return list
	}
	even := steps(1.05)
	if a, b := p.Update(even).Ratio(&even[0].Step).Mean, p.Robust(even).Ratio(&even[0].Step).Mean; math.Abs(a-b) > 0.1*a {
		t.Errorf("even steps: %g, robust %g", a, b)
	}
	odd := steps(3)
	of := func(q *Prior) float64 { return q.Ratio(&odd[1].Step).Mean }
	if moved, robust := of(p.Update(odd))-of(p.Update(even)), of(p.Robust(odd))-of(p.Robust(even)); robust < 0 || robust > moved/2 {
		t.Errorf("an odd step moves the mean by %g, robust by %g", moved, robust)
	}
}
