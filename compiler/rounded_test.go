package compiler

import (
	"math/rand/v2"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestRoundTimes: a plan whose numbers differ in their last bits is the same
// plan when rounded; its breakdown sums to the step, and what only the last bits
// are of is nothing.
func TestRoundTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		parts := make([]float64, 8)
		for i := range parts {
			parts[i] = r.Float64() * 10
		}
		a, b := planOf(parts, 0), planOf(parts, 1e-15)
		sum := 0.0
		for i := range a.Time.Breakdown {
			if a.Time.Breakdown[i] != b.Time.Breakdown[i] {
				t.Fatalf("%v and %v", a.Time.Breakdown[i], b.Time.Breakdown[i])
			}
			sum += float64(a.Time.Breakdown[i].Seconds)
		}
		if got := units.Rounded(sum); got != float64(a.Time.StepSeconds) {
			t.Fatalf("the breakdown sums to %v of %v", got, a.Time.StepSeconds)
		}
		if a.Time.StepSeconds != b.Time.StepSeconds || a.Time.BubbleShare != 0 || b.Time.BubbleShare != 0 || len(a.Time.Breakdown) != len(parts) || len(b.Time.Breakdown) != len(parts) {
			t.Fatalf("%+v and %+v", a.Time, b.Time)
		}
		if a.Communication[0] != b.Communication[0] || a.Communication[0].ExposedSeconds != 0 {
			t.Fatalf("%+v and %+v", a.Communication, b.Communication)
		}
	}
}

// planOf is a step of some parts, each off by a relative error, and a bubble
// that is nothing but that error.
func planOf(parts []float64, err float64) *plan.Plan {
	p := &plan.Plan{Communication: []plan.Communication{{Seconds: units.Seconds(parts[0] * (1 + err)), ExposedSeconds: units.Seconds(err)}}}
	for i, x := range append(parts, err) {
		x *= 1 + err*float64(1-i%3)
		p.Time.StepSeconds += units.Seconds(x)
		p.Time.Breakdown = append(p.Time.Breakdown, plan.TimeLine{ID: string(rune('a' + i)), Seconds: units.Seconds(x)})
	}
	p.Time.BubbleShare = units.Share(err)
	roundTimes(p)
	roundAll(p)
	return p
}
