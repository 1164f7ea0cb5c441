package estimate

import (
	"cmp"
	"maps"
	"sync"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// moved is what one operation of a layer reads and writes of memory, in bytes
// per element of its output, tensors in 16 bits.
type moved struct {
	Layers    string  `json:"layers"`    // whose implementation
	Like      string  `json:"like"`      // whose operations it has but for those that it lists; "" for fused ones
	Operation string  `json:"operation"` // layernorm, rmsnorm, rope, gated, activation, relu2, residual, convolution, scan, gated_norm, clamp, expert_in_bias, expert_out_bias, gradient_sum, permute, arrival, combine
	Forward   float64 `json:"forward"`
	Backward  float64 `json:"backward"`
	Kernel    string  `json:"kernel"` // norm: one kernel that reduces, too; permute: rows in another order; elementwise: one or several that do neither
	Source    string  `json:"source"`
}

// fusedLayers is the implementation whose operations are one kernel each.
const fusedLayers = "fused"

// implementations reads data/layers.json: operations by implementation. Those
// that are composed of several kernels were counted in the frameworks: the bytes
// that every operator of the forward and of the backward pass reads and writes,
// views apart (integration/oracle/operators.py counts them again).
var implementations = sync.OnceValue(func() map[string]map[string]moved {
	records := embedded[[]moved]("layers")
	all := map[string]map[string]moved{fusedLayers: {}}
	for _, r := range records {
		if all[r.Layers] == nil {
			all[r.Layers] = maps.Clone(all[cmp.Or(r.Like, fusedLayers)])
		}
		all[r.Layers][r.Operation] = r
	}
	return all
})

// layerTraffic is what the operations of a model's layers move. Norm is one of
// them, residual all of a layer's sums.
type layerTraffic struct {
	norm, rope, activation, residual   moved
	gradients                          moved // summed for one input
	gate, convolution, scan, gatedNorm moved // of gated attention and of mixers
	clamp, inBias, outBias             moved // of experts
	permute, arrival, combine          moved // of routed rows: arrival of those that come from other ranks
}

// trafficOf picks the operations that a model has.
func trafficOf(m *job.Model, layers string) layerTraffic {
	of := func(operation string) moved {
		r, ok := implementations()[layers][operation]
		if !ok {
			panic("estimate: layers of " + layers + " have no " + operation)
		}
		return r
	}
	activation := "activation"
	if m.GatedActivation() {
		activation = "gated"
	} else if m.Activation.Kind == "relu2" {
		activation = "relu2"
	}
	return layerTraffic{
		norm: of(cmp.Or(m.Norm.Kind, "rmsnorm")), rope: of("rope"), activation: of(activation), residual: of("residual"),
		gate: implementations()[fusedLayers]["gated"], convolution: of("convolution"), scan: of("scan"), gatedNorm: of("gated_norm"),
		gradients: of("gradient_sum"), permute: of("permute"), arrival: of("arrival"), combine: of("combine"),
		clamp: of("clamp"), inBias: of("expert_in_bias"), outBias: of("expert_out_bias"),
	}
}

// traffic is what the layers move as they run: fused by the compiler, or as
// the framework implements them.
func (e *Evaluator) traffic(x *plan.Execution) *layerTraffic {
	if x.Compile {
		return &e.fused
	}
	return &e.eager
}

// fusion is the factor on the bytes of memory-bound kernels that one kernel per
// operation would move; 1 where the kernels were counted or a compiler fuses them.
func (e *Evaluator) fusion(x *plan.Execution) float64 {
	if x.Compile || e.counted {
		return 1
	}
	return e.parameters.at("elementwise." + e.runtime.Layers.Elementwise)
}

// kernels are those that the operation runs, forward and backward.
func (m *moved) kernels() (forward, backward compute.Traffic) {
	switch m.Kernel {
	case "norm":
		return compute.NormForward, compute.NormBackward
	case "permute":
		return compute.Permute, compute.Permute
	}
	return compute.Elementwise, compute.Elementwise
}
