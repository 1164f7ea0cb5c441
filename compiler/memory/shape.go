package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
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
	dispatcher  string // how rows go to their experts
	static      bool   // experts have buffers of a fixed size
}

// shapeOf extracts the key from a layout.
func (m *Model) shapeOf(l *plan.Layout, x *plan.Execution) shape {
	s := shape{
		Shape:   program.ShapeOf(l),
		unfused: x.Attention == "unfused", context: x.ContextParallelType,
		recompute: l.Recompute, lossChunks: max(x.LossChunks, 1),
		compiled:    x.Compile,
		userBuffers: x.OverlapTensorParallel && l.TensorParallel > 1,
		graphs:      x.CUDAGraphs, dispatcher: x.MoEDispatcher, static: m.static(x),
		fusedLoss: x.CrossEntropy == "fused" || x.Compile && m.runtime.Loss.CompilesLoss,
	}
	if l.Recompute == plan.RecomputeSelective {
		s.modules = l.RecomputeModules
	}
	return s
}

// static reports whether experts have buffers of a fixed size.
func (m *Model) static(x *plan.Execution) bool {
	return m.runtime.Experts.Static.Capacity > 0 && x.StaticExperts() && !m.arch.Model.MoE.TokenDrop
}

// assembly is how the blocks of a layer are built.
func (m *Model) assembly(s *shape) program.Assembly {
	a := program.AssemblyOf(m.runtime)
	if !s.static {
		a.Experts.Static = runtime.StaticExperts{}
	}
	a.UnfusedAttention, a.Compiled, a.ContextExchange, a.ExchangesRows = s.unfused, s.compiled, s.context, s.dispatcher == "alltoall"
	a.Loss, a.LossChunks, a.FusedLoss = *m.loss(s), s.lossChunks, s.fusedLoss
	a.Types = program.Types{Compute: m.element, Input: m.precision.InputBytes, Quantised: m.precision.WeightBytes > 0, RowAlign: m.precision.Align}
	return a
}
