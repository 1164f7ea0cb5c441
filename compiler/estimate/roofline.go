package estimate

import (
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// Roofline holds the GEMMs and attention kernels of a legal layout's
// forward pass against what the GPU could do.
func (e *Evaluator) Roofline(l *plan.Layout, x *plan.Execution) *plan.Roofline {
	t := e.terms(l, x)
	out := &plan.Roofline{MemoryBandwidth: e.job.Cluster.GPU.MemoryBandwidth, Kernels: []plan.Kernel{}}
	operations := e.listingOf(program.ShapeOf(l))
	for kind, layer := range operations.layers {
		layers := e.arch.Count(kind, 0, e.model.Layers)
		if layers == 0 {
			continue
		}
		layer.Operations(func(o *program.Operation) {
			if k, ok := e.kernelOf(o, e.start(l, x, t.groups, false)); ok {
				for i := range out.Kernels { // layers of several kinds have much in common
					same := out.Kernels[i]
					if same.Layers = 0; same == k {
						out.Kernels[i].Layers += layers
						return
					}
				}
				k.Layers = layers
				out.Kernels = append(out.Kernels, k)
			}
		})
	}
	return out
}

// kernelOf times one operation by itself; false where it is bound by memory alone.
func (e *Evaluator) kernelOf(o *program.Operation, b *builder) (plan.Kernel, bool) {
	k := plan.Kernel{Name: o.Name}
	switch o.Kind {
	case program.Linear, program.GroupedLinear:
		dtype := b.dtype
		if o.Component == program.Router {
			dtype = e.base
		}
		p := &o.GEMM
		t, _ := b.linear(o)
		k.FLOPs, k.Seconds, k.Peak = p.FLOPs(), t.Forward, e.device.Peak(dtype)
		m, n, depth := float64(p.M), float64(p.N), float64(p.K)
		k.Bytes = units.Bytes(float64(p.Count) * (elementBytes(dtype)*(m*depth+float64(max(p.Groups, 1))*n*depth) + 2*m*n))
	case program.AttentionCore:
		c := &o.Core
		b.attention(o)
		k.FLOPs, k.Seconds, k.Peak = c.FLOPs(), b.fwd[lineAttention], e.device.Peak(e.attentionType(b.dtype))
		k.Bytes = units.Bytes(2 * float64(c.Batch*(c.QKDim+c.VDim)) * float64(c.Queries*c.Heads+c.Keys*c.KVHeads))
	default:
		return k, false
	}
	return k, k.Seconds > 0
}

// elementBytes is the width of what a product reads.
func elementBytes(t compute.DType) float64 {
	switch t {
	case compute.FP8, compute.FP8Delayed, compute.FP8Block, compute.MXFP8:
		return 1
	case compute.NVFP4:
		return 0.5
	case compute.TF32, compute.FP32:
		return 4
	}
	return 2
}
