package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// Operations that compute little are timed by the bytes that their kernels move:
// where one kernel does it, one read per input, one write per output, 2 bytes per
// element; else what data/layers.json says (docs/time.md). Scans of a state are
// taken to be among them: no measurement of their kernels is at hand, which is why
// the range of hybrid models is wide (package uncertainty).

// stream is what happens to the residual stream of a layer, in elements.
type stream struct{ norms, sums, dropouts float64 }

// stream times the norms, sums and dropouts of a layer together. What
// data/layers.json says of sums is for both of a layer of two blocks.
func (b *builder) stream(s *stream) {
	moves := b.e.traffic(b.x)
	forward, backward := b.moves(&moves.norm, s.norms)
	b.repeat(plan.ModuleNorm, forward)
	b.spend(forward, backward)
	b.spend(b.moves(&moves.residual, s.sums/2))
	t := b.bytes(compute.Elementwise, s.dropouts)
	b.spend(t, t)
}

// memoryBound times one operation, and charges the forward to the modules of
// selective recompute that run it again.
func (b *builder) memoryBound(o *program.Operation) {
	forward, backward := b.movement(o)
	b.repeat(o.Modules, forward)
	b.spend(forward, backward)
}

// movement is the time of one memory-bound operation.
func (b *builder) movement(o *program.Operation) (forward, backward units.Seconds) {
	moves := b.e.traffic(b.x)
	var t units.Seconds // forward and backward alike
	switch o.Kind {
	case program.HeadNorm:
		return b.moves(&moves.norm, o.Elements)
	case program.Rotary:
		return b.moves(&moves.rope, o.Elements)
	case program.Gate: // that of shared experts is not counted
		if o.Component == program.Attention {
			return b.moves(&moves.gate, o.Elements)
		}
	case program.Convolution:
		return b.moves(&moves.convolution, o.Elements)
	case program.Scan:
		return b.moves(&moves.scan, o.Elements)
	case program.GatedNorm:
		return b.moves(&moves.gatedNorm, o.Elements)
	case program.JoinGradients:
		return 0, b.bytes(compute.Elementwise, o.Elements*4)
	case program.Activation:
		return b.activation(o)
	case program.Clamp:
		return b.unfused(&moves.clamp, o)
	case program.ExpertInBias:
		return b.unfused(&moves.inBias, o)
	case program.ExpertOutBias:
		return b.unfused(&moves.outBias, o)
	case program.Routing:
		t = b.bytes(compute.Elementwise, o.Elements*16)
	case program.SumGradients:
		return b.moves(&moves.gradients, o.Elements)
	case program.Combine:
		return b.moves(&moves.combine, o.Elements)
	case program.Permute:
		forward, backward = b.moves(&moves.permute, o.Elements*b.sorts())
		if b.l.ExpertParallel > 1 {
			f, w := b.moves(&moves.arrival, o.Elements*b.sorts())
			forward, backward = forward+f, backward+w
		}
		return forward, backward
	}
	return t, t
}

// spend adds the time of a memory-bound operation.
func (b *builder) spend(forward, backward units.Seconds) {
	b.fwd[lineMemoryBound] += forward
	b.bwd[lineMemoryBound] += backward
}

// activation times the activation function of an MLP. Fused into the kernel of
// its GEMMs it writes what the backward needs, and reads it again, and nothing
// else.
func (b *builder) activation(o *program.Operation) (forward, backward units.Seconds) {
	moves := b.e.traffic(b.x).activation
	if o.Component == program.Experts && b.fusesExperts() {
		moves.Forward, moves.Backward = 2*b.activationInputs(), 2*b.activationInputs()
	}
	return b.moves(&moves, o.Elements)
}

// fusesExperts reports whether an expert MLP is one kernel, as it is in buffers of a
// fixed size.
func (b *builder) fusesExperts() bool {
	experts := &b.e.runtime.Experts
	return experts.FusedMLP || experts.Static.Capacity > 0 && b.x.StaticExperts()
}

// moves times an operation over so many elements.
func (b *builder) moves(m *moved, elements float64) (forward, backward units.Seconds) {
	f, w := m.kernels()
	return b.bytes(f, elements*m.Forward), b.bytes(w, elements*m.Backward)
}

// activationInputs is how many inputs the activation function has.
func (b *builder) activationInputs() float64 {
	if b.e.model.GatedActivation() {
		return 2
	}
	return 1
}

// sorts is the share that runs of bringing rows to their experts: sorted by rank
// before they travel and by expert after. Kernels that send tokens sort once, on
// arrival.
func (b *builder) sorts() float64 {
	if plan.SendsTokens(b.x.MoEDispatcher) {
		return 0.5
	}
	return 1
}

// unfused times an operation of experts that is none where an expert MLP is one kernel.
func (b *builder) unfused(m *moved, o *program.Operation) (forward, backward units.Seconds) {
	if b.fusesExperts() {
		return 0, 0
	}
	return b.moves(m, o.Elements)
}

// gradientCopies is what an engine without fused accumulation moves per
// micro-batch to bring weight gradients to where they are reduced: a read in
// 16 bits and a write in the reduction type.
func (b *builder) gradientCopies(kind int) units.Seconds {
	if b.e.runtime.Layers.AccumulatesWeightGradients {
		return 0
	}
	n := b.e.arch.Elements(kind, program.SplitOf(b.l)).Sum()
	return b.bytes(compute.Elementwise, float64(n)*(2+b.x.GradientBytes()))
}

// bytes times a memory-bound kernel as the framework fuses it.
func (b *builder) bytes(kind compute.Traffic, n float64) units.Seconds {
	return b.e.device.Traffic(kind, units.Bytes(math.Round(n*b.e.fusion(b.x))))
}
