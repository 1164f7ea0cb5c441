package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Kept is what one layer of a kind holds per micro-batch on a rank between its
// forward and its backward pass: under the layout's recompute, or in full for
// a layer that recompute leaves out. Package estimate times its way to the host
// and back when activations are offloaded.
func (m *Model) Kept(l *plan.Layout, x *plan.Execution, kind int, recomputed bool) units.Bytes {
	y := &m.evaluate(l, x).terms.layers[kind]
	if recomputed {
		return units.Bytes(y.keptSum)
	}
	return units.Bytes(y.wholeSum)
}
