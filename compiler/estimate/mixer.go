package estimate

import (
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// mixers times what mixers of a state do between their projections, and the gate
// on the output of attention. All of it is taken as bound by memory bandwidth:
// no measurement of these kernels is at hand, which is why the range of hybrid
// models is wide (data/hybrid.json).
func (b *builder) mixers(kind int) {
	s := program.ShapeOf(b.l)
	var forward, backward units.Seconds
	layer := b.e.arch.Layer(kind, &s, &b.e.assembly)
	layer.Operations(func(o *program.Operation) {
		name, ok := mixerOperations[o.Kind]
		if o.Kind == program.Activation && o.Component == program.Attention {
			name, ok = "gated", true
		}
		if !ok {
			return
		}
		m := implementations()[fusedLayers][name]
		there, back := b.moves(&m, o.Elements)
		forward += there
		backward += back
	})
	b.fwd[lineMemoryBound] += forward
	b.bwd[lineMemoryBound] += backward
}

// mixerOperations are the operations of data/layers.json that only mixers have.
var mixerOperations = map[program.OperationKind]string{
	program.Convolution: "convolution", program.Scan: "scan", program.GatedNorm: "gated_norm",
}
