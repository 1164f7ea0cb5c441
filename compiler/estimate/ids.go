package estimate

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/units"
)

// The warnings that a description can carry.
const (
	// IDKernelsExtrapolated: no kernel was measured on the GPU; efficiencies are
	// those of its nearest relative.
	IDKernelsExtrapolated diag.ID = "kernels-extrapolated"
	// IDWideRange: the 90 % range of the step time is wider than 15 % to a side.
	IDWideRange diag.ID = "wide-time-range"
)

// warnings says what a prediction and its range stand on.
func (e *Evaluator) warnings(t units.Seconds, ends [2]units.Seconds, stands string) []plan.Warning {
	var out []plan.Warning
	if e.device.Extrapolated() {
		out = append(out, plan.Warning{
			ID: string(IDKernelsExtrapolated), Summary: "Kernel times are extrapolated",
			Detail: fmt.Sprintf("No kernel was measured on %s: times are those of %s, scaled by the peaks of both.", e.job.Cluster.GPU.Name, e.device.Relative()),
		})
	}
	low, high := units.Rounded(1-float64(ends[0]/t)), units.Rounded(float64(ends[1]/t)-1)
	if max(low, high) > 0.15 {
		out = append(out, plan.Warning{
			ID: string(IDWideRange), Summary: "The range of the step time is wide",
			Detail: fmt.Sprintf("Nine in ten steps of this class lay between %.0f %% below and %.0f %% above the prediction: %s.", 100*low, 100*high, stands),
		})
	}
	return out
}
