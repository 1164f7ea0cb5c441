package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// mlp lists a dense MLP.
func (b *builder) mlp() {
	b.open("mlp")
	b.norm(plan.ModuleMLP, residence{input: true, output: true}) // part of the first linear operation
	b.feedForward(&mlpNames, MLP, plan.ModuleMLP, b.m.FFNHiddenSize)
	b.close(MLP)
}

// feedForwardNames are those of the operations of an MLP.
type feedForwardNames struct{ in, sum, activation, out string }

var (
	mlpNames    = feedForwardNames{"mlp.in", "mlp.sum", "mlp.activation", "mlp.out"}
	sharedNames = feedForwardNames{"shared_experts.in", "shared_experts.sum", "shared_experts.activation", "shared_experts.out"}
)

// feedForward adds an MLP of the given full width, cut over tensor ranks: the
// inputs of the activation and its output. Backward, gradients of the activation's
// inputs take the place of its output. Where column-parallel layers gather, the
// first operation makes two partial gradients of its input, both of the whole
// stream, when its output is gone; the last makes its output before it is
// scattered, a copy to scatter and what is scattered.
func (b *builder) feedForward(names *feedForwardNames, c Component, modules plan.Modules, width int) {
	m, element, up := b.m, b.a.Types.Compute, upProjections(b.m)
	f := b.tokens * int64(width) / int64(b.s.TensorParallel)
	local := width / b.s.TensorParallel
	in := Operation{Name: names.in, Component: c, Modules: modules,
		GEMM:   GEMM{M: int(b.tokens), N: local * up, K: m.HiddenSize, Groups: 1, Count: 1},
		Before: TensorGather, Gathered: m.HiddenSize}
	b.separate(&in, local)
	for range up {
		b.writeKept(&in, modules, f*element).Resident = true
	}
	activation := Operation{Name: names.activation, Kind: Activation, Component: c, Modules: modules,
		Elements: float64(b.tokens) * (float64(width) / float64(b.s.TensorParallel))}
	if b.a.Layers.SeparateGate && up == 2 && !b.a.Compiled {
		b.keepResident(&activation, modules, f*element)
	}
	b.keepResident(&activation, modules, b.asInput(f))
	activation.Backward = int64(up) * f * element
	out := Operation{Name: names.out, Component: c, Modules: modules,
		GEMM:  GEMM{M: int(b.tokens), N: m.HiddenSize, K: local, Groups: 1, Count: 1},
		After: TensorReduce}
	if !b.a.KernelsOnly {
		in.Weights = b.weights(matrix(names.in+".weight", TensorSharded, width*up, m.HiddenSize))
		out.Weights = b.weights(matrix(names.out+".weight", TensorSharded, m.HiddenSize, width))
	}
	b.write(&out, b.tokens*int64(m.HiddenSize)*element)
	if gathered := b.block.Gathered; gathered > 0 {
		in.Backward, out.Forward = 2*gathered-activation.Backward, 2*gathered+b.stream
	}
	if m.MLPBias && !b.a.KernelsOnly {
		in.Weights = append(in.Weights, vector(names.in+".bias", TensorSharded, width*up))
		out.Weights = append(out.Weights, vector(names.out+".bias", Replicated, m.HiddenSize))
	}
	b.add(in)
	if in.GEMM.Count > 1 {
		b.sumGradients(names.sum, c, float64(b.tokens))
	}
	b.add(activation)
	b.add(out)
}

// sumGradients adds the sums, over so many tokens in all, of the gradients that what
// reads an input gives it.
func (b *builder) sumGradients(name string, c Component, tokens float64) {
	b.add(Operation{Name: name, Kind: SumGradients, Component: c, Elements: tokens * float64(b.m.HiddenSize)})
}

// separate makes two multiplications of that of gate and up where they are not
// fused.
func (b *builder) separate(o *Operation, width int) {
	if b.a.Layers.SeparateProjections && upProjections(b.m) == 2 {
		o.GEMM.N, o.GEMM.Count = width, 2
	}
}

// upProjections is 2 for gated activations (gate and up), else 1.
func upProjections(m *job.Model) int {
	if m.GatedActivation() {
		return 2
	}
	return 1
}
