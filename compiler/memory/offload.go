package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// Offloaded is what offload of activations moves to the host for one layer of
// a kind and one micro-batch, between its forward and its backward pass, under
// the layout's recompute. Package estimate times its way there and back.
func (m *Model) Offloaded(l *plan.Layout, x *plan.Execution, kind int) units.Bytes {
	y := &m.evaluate(l, x).terms.layers[kind]
	return units.Bytes(y.keptSum - y.staySum)
}
