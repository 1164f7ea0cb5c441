package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// mlp lists a dense MLP.
func (b *builder) mlp() {
	b.open("mlp")
	b.norm(plan.ModuleMLP, residence{input: true, output: true}) // part of the first linear operation
	b.feedForward("mlp", MLP, plan.ModuleMLP, b.m.FFNHiddenSize)
	b.backwardMLP()
	b.close(MLP)
}

// feedForward adds an MLP of the given full width, cut over tensor ranks: the
// inputs of the activation and its output.
func (b *builder) feedForward(name string, c Component, modules plan.Modules, width int) {
	m, element, up := b.m, b.a.Types.Compute, upProjections(b.m)
	f := b.tokens * int64(width) / int64(b.s.TensorParallel)
	local := width / b.s.TensorParallel
	in := Operation{Name: name + ".in", Component: c, Modules: modules,
		Weights: []Weight{matrix(name+".in.weight", TensorSharded, width*up, m.HiddenSize)},
		GEMM:    GEMM{M: int(b.tokens), N: local * up, K: m.HiddenSize, Groups: 1, Count: 1},
		Before:  TensorGather}
	b.separate(&in, local)
	for range up {
		b.writeKept(&in, modules, f*element).Resident = true
	}
	activation := Operation{Name: name + ".activation", Kind: Activation, Component: c, Modules: modules,
		Elements: float64(b.tokens) * (float64(width) / float64(b.s.TensorParallel))}
	if b.a.Layers.SeparateGate && up == 2 && !b.a.Compiled {
		activation.keepResident(modules, f*element)
	}
	activation.keepResident(modules, b.asInput(f))
	out := Operation{Name: name + ".out", Component: c, Modules: modules,
		Weights: []Weight{matrix(name+".out.weight", TensorSharded, m.HiddenSize, width)},
		GEMM:    GEMM{M: int(b.tokens), N: m.HiddenSize, K: local, Groups: 1, Count: 1},
		After:   TensorReduce}
	b.write(&out, b.tokens*int64(m.HiddenSize)*element)
	if m.MLPBias {
		in.Weights = append(in.Weights, vector(name+".in.bias", TensorSharded, width*up))
		out.Weights = append(out.Weights, vector(name+".out.bias", Replicated, m.HiddenSize))
	}
	b.add(in)
	b.add(activation)
	b.add(out)
}

// separate makes two multiplications of that of gate and up where they are not
// fused.
func (b *builder) separate(o *Operation, width int) {
	if b.a.Layers.SeparateProjections && upProjections(b.m) == 2 {
		o.GEMM.N, o.GEMM.Count = width, 2
	}
}

// backwardMLP settles the worst backward moment of a dense MLP: its gradients
// of the activation's inputs take the place of what the last product needed.
// Where column-parallel layers gather, three whole streams, the two partial
// gradients of their input and the sum that is about to be scattered, can be
// more when all that the MLP kept is gone.
func (b *builder) backwardMLP() {
	m, element := b.m, b.a.Types.Compute
	f, up := b.tokens*int64(m.FFNHiddenSize)/int64(b.s.TensorParallel)*element, int64(upProjections(m))
	gathered := b.tokens * int64(m.HiddenSize) * element
	var weight int64 // the gradient of one of the weights
	if b.a.KeepsWeightGradients {
		weight = int64(m.HiddenSize*m.FFNHiddenSize/b.s.TensorParallel) * element
	}
	b.block.Backward = up*f + weight
	if b.gathers() {
		b.block.Backward = max(b.block.Backward, 2*gathered-2*up*f+(up+1)*weight)
		// the last product, run again, its copy to scatter and what is scattered,
		// beside the gathered gradient
		b.block.Remade, b.block.Incoming, b.block.OnlyFull = 2*gathered+b.stream, gathered+b.stream, true
	}
	b.block.Backward += b.stream
}

// upProjections is 2 for gated activations (gate and up), else 1.
func upProjections(m *job.Model) int {
	if m.GatedActivation() {
		return 2
	}
	return 1
}
