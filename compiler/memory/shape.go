package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/target"
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
	compiled    bool // a compiler decides what the MLP keeps
	userBuffers bool // tensor-parallel communication overlaps through registered buffers
}

// shapeOf extracts the key from a layout.
func (m *Model) shapeOf(l *plan.Layout, x *plan.Execution) shape {
	s := shape{
		Shape:   program.ShapeOf(l),
		unfused: x.Attention == "unfused", context: x.ContextParallelType,
		recompute: l.Recompute, lossChunks: max(x.LossChunks, 1),
		compiled:    x.Compile,
		userBuffers: x.OverlapTensorParallel && l.TensorParallel > 1,
		fusedLoss:   x.CrossEntropy == "fused" || x.Compile && m.target.CompilesLoss,
	}
	if l.Recompute == plan.RecomputeSelective {
		s.modules = l.RecomputeModules
	}
	return s
}

// assembly is how the blocks of a layer are built.
func (m *Model) assembly(s *shape) program.Assembly {
	y, t := &m.style, m.target
	return program.Assembly{
		FusedQKV: t.FusedQKV, SeparateGate: y.separateGate, Compiled: s.compiled, UnfusedAttention: s.unfused,
		FP32Norm: y.fp32Norm, FP32Combine: y.fp32Combine, ReplicatedCombine: t.WholeCombine,
		KeepsGathered: y.keepsGathered, KeepsReduceScatter: t.KeepsReduceScatter, KeepsAllToAll: t.KeepsAllToAll,
		KeepsWeightGradients: y.reduceFP32, ViewsValue: y.viewsValue,
		ContextExchange: s.context, CopiesQuery: y.copiesContext, RotaryBytes: t.LayerRotary,
		Types: program.Types{Compute: m.element, Input: m.precision.inputBytes, Quantised: m.precision.weightBytes > 0, RowAlign: m.precision.align},
	}
}

// style is how an engine's usual layers are built, as far as it decides which
// tensors the backward pass needs.
type style struct {
	// separateGate keeps gate, activated gate, up and product of a gated MLP;
	// otherwise one fused kernel, or compiled code, keeps its inputs and the
	// product only.
	separateGate bool
	// fp32Norm normalises in fp32 with separate operators, which keep fp32 copies.
	fp32Norm bool
	// fp32Combine weighs the experts' outputs with their scores in fp32 after
	// the experts, so that the outputs are kept, instead of before the last
	// product.
	fp32Combine bool
	// weightGradients keeps one scratch gradient per distinct weight shape
	// (Transformer Engine with gradients accumulated into main gradients).
	weightGradients bool
	// keepOutputs keeps the output of a pipeline stage until its backward pass.
	keepOutputs bool
	// receivesAll gives a pipeline stage buffers to receive the activations and
	// gradients of all micro-batches into.
	receivesAll bool
	// keepsGathered keeps the input of a column-parallel layer gathered over the
	// tensor group until its backward pass, and keys and values gathered over the
	// context group.
	keepsGathered bool
	// reduceFP32 copies whole gradients to fp32 on the way into the reduction.
	reduceFP32 bool
	// viewsValue hands values of latent attention over as a part of what they
	// are projected with, so that the keys in it are kept, too.
	viewsValue bool
	// copiesContext keeps one more copy of the query under ring context
	// parallelism.
	copiesContext bool
}

// styles by engine. Sources: docs/memory.md, "What a layer keeps".
var styles = map[target.Engine]style{
	target.Megatron:  {weightGradients: true, copiesContext: true},
	target.FSDP2:     {separateGate: true, keepOutputs: true, receivesAll: true, fp32Combine: true, reduceFP32: true, keepsGathered: true, viewsValue: true},
	target.DeepSpeed: {separateGate: true, fp32Norm: true, fp32Combine: true, keepOutputs: true},
}
