package picture

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestScale: 1 and 10 stand on one scale from zero; 8 and 800 on powers of ten from
// 1, where 8 is the same share of the way as in the logarithm.
func TestScale(t *testing.T) {
	of := func(values ...float64) (func(float64) float64, []float64, bool) {
		var sizes []*plan.Plan
		for _, v := range values {
			p := &plan.Plan{Feasible: true}
			p.Run.GPUHours = v
			sizes = append(sizes, p)
		}
		return scale(append(sizes, &plan.Plan{}), []curve{{of: func(p *plan.Plan) float64 { return p.Run.GPUHours }}})
	}
	if y, _, powers := of(1, 10); powers || y(0) != 0 || math.Abs(y(10)*1.05-panelHeight) > 1e-9 {
		t.Errorf("powers %v, 10 at %v", powers, y(10))
	}
	y, marks, powers := of(8, 800)
	if !powers || y(1) != 0 || len(marks) != 3 || math.Abs(y(960)-panelHeight) > 1e-9 || y(8) <= 0 {
		t.Errorf("powers %v, marks %v, 960 at %v", powers, marks, y(960))
	}
	if _, _, powers := of(); powers {
		t.Error("no size has a plan")
	}
}
