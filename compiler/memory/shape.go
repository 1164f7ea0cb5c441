package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
)

// shape is everything that one layer on one rank depends on: the key of the
// cache of layer terms.
type shape struct {
	program.Shape
	unfused     bool   // attention keeps its probabilities
	context     string // how context parallelism moves keys and values
	recompute   plan.Recompute
	modules     plan.Modules
	fusedLoss   bool
	lossChunks  int
	compiled    bool   // a compiler decides what the MLP keeps
	userBuffers bool   // tensor-parallel communication overlaps through registered buffers
	graphs      string // what CUDA graphs capture
	sendsTokens bool   // a dispatcher sends tokens, not their copies
}

// shapeOf extracts the key from a layout.
func (m *Model) shapeOf(l *plan.Layout, x *plan.Execution) shape {
	s := shape{
		Shape:   program.ShapeOf(l),
		unfused: x.Attention == "unfused", context: x.ContextParallelType,
		recompute: l.Recompute, lossChunks: max(x.LossChunks, 1),
		compiled:    x.Compile,
		userBuffers: x.OverlapTensorParallel && l.TensorParallel > 1,
		graphs:      x.CUDAGraphs, sendsTokens: plan.SendsTokens(x.MoEDispatcher),
		fusedLoss: x.CrossEntropy == "fused" || x.Compile && m.runtime.Loss.CompilesLoss,
	}
	if l.Recompute == plan.RecomputeSelective {
		s.modules = l.RecomputeModules
	}
	return s
}

// assembly is how the blocks of a layer are built.
func (m *Model) assembly(s *shape) program.Assembly {
	a := program.AssemblyOf(m.runtime)
	a.UnfusedAttention, a.Compiled, a.ContextExchange = s.unfused, s.compiled, s.context
	a.Loss, a.LossChunks, a.FusedLoss = *m.loss(s), s.lossChunks, s.fusedLoss
	a.Types = program.Types{Compute: m.element, Input: m.precision.inputBytes, Quantised: m.precision.weightBytes > 0, RowAlign: m.precision.align}
	return a
}
