package program

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// experts lists a mixture of experts: the router, the shared expert, the
// dispatch of tokens to experts and the grouped expert MLPs. Where experts'
// outputs are weighed in fp32, the shared expert runs last.
func (b *builder) experts() {
	b.open("mlp")
	b.norm(plan.ModuleNorm, residence{output: true})
	b.router()
	if b.a.Layers.SeparateProjections {
		sums := 1. // of router and experts
		if SharedWidth(b.m.MoE) > 0 {
			sums++
		}
		b.sumGradients("router.sum", Router, sums*b.shard())
	}
	if !b.a.Experts.FP32Combine {
		b.shared()
	}
	b.latent("experts.latent_in", b.p.ExpertWidth(), b.m.HiddenSize)
	b.routed()
	b.latent("experts.latent_out", b.m.HiddenSize, b.p.ExpertWidth())
	if b.a.Experts.FP32Combine {
		b.shared()
	}
	b.close(MLP)
}

// shared adds the shared experts, as one MLP.
func (b *builder) shared() {
	if w := SharedWidth(b.m.MoE); w > 0 {
		b.feedForward(&sharedNames, SharedExperts, plan.ModuleMoE|plan.ModuleSharedExperts, w)
		b.sharedGate()
	}
}

// router adds the projection to one logit per expert and what is made of it.
func (b *builder) router() {
	m, e := b.m, b.m.MoE
	o := Operation{Name: "router", Component: Router, Modules: plan.ModuleMoE,
		Weights: b.weights(matrix("router.weight", Replicated, e.Experts, m.HiddenSize)),
		GEMM:    GEMM{M: int(b.local), N: e.Experts, K: m.HiddenSize, Groups: 1, Count: 1}}
	if e.Router.Bias {
		o.Weights = append(o.Weights, vector("router.bias", Replicated, e.Experts))
	}
	b.add(o)
	// Router logits, scores, probabilities and the auxiliary loss's scores in
	// fp32, and the routing map in bytes, per token and expert.
	o = Operation{Name: "routing", Kind: Routing, Component: Router, Elements: b.shard() * float64(e.Experts)}
	b.keepResident(&o, plan.ModuleMoE, b.local*int64(e.Experts)*(4*4+1))
	b.add(o)
}

// sharedGate adds the sigmoid that scales the shared experts' output.
func (b *builder) sharedGate() {
	if !b.m.MoE.SharedExpertGate {
		return
	}
	o := Operation{Name: "shared_experts.gate", Kind: Gate, Component: SharedExperts, Modules: plan.ModuleMoE | plan.ModuleSharedExperts,
		Elements: b.shard() * float64(b.m.HiddenSize), Weights: b.weights(vector("shared_experts.gate.weight", Replicated, b.m.HiddenSize))}
	b.keep(&o, plan.ModuleMoE|plan.ModuleSharedExperts, b.stream)
	b.add(o)
}

// latent adds a projection between the residual stream and the narrower one that
// the routed experts work on, which every tensor rank has in full.
func (b *builder) latent(name string, rows, columns int) {
	if b.m.MoE.LatentSize == 0 {
		return
	}
	o := Operation{Name: name, Component: MLP, Modules: plan.ModuleMoE, Weights: b.weights(matrix(name+".weight", Replicated, rows, columns)),
		GEMM: GEMM{M: int(b.local), N: rows, K: columns, Groups: 1, Count: 1}}
	if columns < rows { // what the experts made
		b.keep(&o, plan.ModuleMoE, b.asInput(b.local*int64(columns)))
	}
	b.add(o)
}

// ExpertWidth is the width of what routed experts read and write.
func (p *Program) ExpertWidth() int {
	if n := p.Model.MoE.LatentSize; n > 0 {
		return n
	}
	return p.Model.HiddenSize
}

// routed adds the routed experts.
func (b *builder) routed() {
	m, e, element, up := b.m, b.m.MoE, b.a.Types.Compute, upProjections(b.m)
	hidden, rows, mean := int64(b.p.ExpertWidth()), b.rows(), float64(b.p.RoutedTokens(b.s))
	local := e.ExpertFFNHiddenSize / b.s.ExpertTensorParallel
	f, width := rows*int64(local), float64(e.ExpertFFNHiddenSize)/float64(b.s.ExpertTensorParallel)
	permute := Operation{Name: "permute", Kind: Permute, Component: Experts, Modules: plan.ModuleMoE, Elements: mean * float64(hidden)}
	b.keepRows(&permute, plan.ModuleMoE, b.asExpertInput(rows*hidden))
	if b.a.Recompute.KeepsAllToAll && b.s.ExpertParallel > 1 {
		b.leave(&permute, Tensor{Bytes: 2 * rows * hidden * element, Operator: true})
	}
	gemm := GEMM{M: int(mean), N: local * up, K: int(hidden), Groups: e.Experts / b.s.ExpertParallel, Count: 1}
	in := Operation{Name: "experts.in", Kind: GroupedLinear, Component: Experts, Modules: plan.ModuleMoE, Before: ExpertDispatch, GEMM: gemm}
	b.separate(&in, local)
	b.keepRows(&in, plan.ModuleMoE, int64(up)*f*element)
	activation := Operation{Name: "experts.activation", Kind: Activation, Component: Experts,
		Modules: plan.ModuleMoE | plan.ModuleExpertActivation, Elements: mean * width}
	if b.a.Layers.SeparateGate && up == 2 {
		b.keep(&activation, plan.ModuleMoE, f*element)
	}
	if b.a.Layers.SeparateGate && m.Activation.Clamp > 0 { // the clamped halves, and the sigmoid apart from what it scales
		b.keep(&activation, plan.ModuleMoE, 3*f*element)
	}
	b.keepRows(&activation, plan.ModuleMoE|plan.ModuleExpertActivation, b.asExpertInput(f)).Resident = true
	activation.Backward = int64(up) * f * element
	out := Operation{Name: "experts.out", Kind: GroupedLinear, Component: Experts, Modules: plan.ModuleMoE, After: ExpertCombine, GEMM: gemm}
	out.GEMM.N, out.GEMM.K = int(hidden), local
	out.Backward = 2 * rows * hidden * element // rows in the order of experts and of tokens
	if n := b.held(); n > 0 {
		out.Forward = n*rows*hidden*element + b.stream
		if SharedWidth(e) > 0 {
			out.Forward += b.stream
		}
	}
	in.Weights, out.Weights = b.expertWeights()
	b.add(permute)
	b.add(in)
	if m.MLPBias {
		b.add(Operation{Name: "experts.in.bias", Kind: ExpertInBias, Component: Experts, Modules: plan.ModuleMoE, Elements: mean * width * float64(up)})
	}
	if m.Activation.Clamp > 0 && up == 2 {
		clamp := Operation{Name: "experts.clamp", Kind: Clamp, Component: Experts, Modules: activation.Modules, Elements: mean * width}
		if b.a.Layers.JoinsClamped && !b.a.Experts.FusedMLP && !b.static() {
			b.keepRows(&clamp, clamp.Modules, int64(up)*f*element)
		}
		b.add(clamp)
	}
	b.add(activation)
	b.add(out)
	if m.MLPBias {
		b.add(Operation{Name: "experts.out.bias", Kind: ExpertOutBias, Component: Experts, Modules: plan.ModuleMoE, Elements: mean * float64(hidden)})
	}
	b.combine()
}

// expertWeights are those of the routed experts' two GEMMs.
func (b *builder) expertWeights() (in, out []Weight) {
	m, e := b.m, b.m.MoE
	width, read := e.ExpertFFNHiddenSize*upProjections(m), b.p.ExpertWidth()
	of := func(name string, s Sharding, rows, columns int) Weight {
		return Weight{Name: name, Sharding: s, Rows: rows, Columns: columns, Copies: e.Experts}
	}
	in = b.weights(of("experts.in.weight", ExpertSharded, width, read))
	out = b.weights(of("experts.out.weight", ExpertSharded, read, e.ExpertFFNHiddenSize))
	if m.MLPBias {
		in = append(in, of("experts.in.bias", ExpertSharded, width, 1))
		out = append(out, of("experts.out.bias", ExpertParallel, read, 1))
	}
	return in, out
}

// held is in how many orders a mixture holds rows when its forward pass ends, beside
// the input of its experts: as they were chosen and as the experts made them, then as
// they came from other ranks, and in the order of those before they are sorted by
// experts. The output is there too, and that of the shared experts.
func (b *builder) held() int64 {
	if !b.a.Experts.HoldsRows || !b.a.ExchangesRows {
		return 0
	}
	n := int64(2)
	if b.s.ExpertParallel > 1 {
		n++
	}
	if b.m.MoE.Experts > b.s.ExpertParallel {
		n++
	}
	return n
}

// static reports whether experts have buffers of a fixed size.
func (b *builder) static() bool { return b.a.Experts.Static.Capacity > 0 && !b.m.MoE.TokenDrop }

// keepRows adds a tensor of the experts' rows that the backward pass needs.
func (b *builder) keepRows(o *Operation, dropped plan.Modules, bytes int64) *Tensor {
	return b.leave(o, Tensor{Bytes: bytes, Dropped: dropped, Autograd: true, Paged: b.static()})
}

// rows is the number of rows that this rank's experts have memory for: those of a
// buffer of fixed size, or those that they multiply, with the imbalance of the
// busiest rank and the padding that low precision asks of each expert.
func (b *builder) rows() int64 {
	e := b.m.MoE
	n := b.tokens * int64(e.TopK*b.s.ExpertTensorParallel) / int64(b.s.TensorParallel)
	if b.static() {
		s := &b.a.Experts.Static
		multiple := int64(max(s.RowMultiple, 1))
		return (int64(float64(n)*s.Capacity) + multiple - 1) / multiple * multiple
	}
	if e.TokenDrop && e.CapacityFactor > 0 {
		n = int64(float64(n) * e.CapacityFactor)
	} else if e.LoadImbalance > 1 {
		n = int64(float64(n) * e.LoadImbalance)
	}
	if b.a.Experts.Unquantised {
		return n
	}
	return n + int64(e.Experts/b.s.ExpertParallel)*b.a.Types.RowAlign/2
}

// asExpertInput is asInput of an expert's product.
func (b *builder) asExpertInput(n int64) int64 {
	if b.a.Experts.Unquantised {
		return n * b.a.Types.Compute
	}
	return b.asInput(n)
}

// combined is the number of elements that weighing the experts' outputs in fp32
// works on: all tokens of the tensor group in one product of matrices, or this
// rank's rows element by element.
func (b *builder) combined() int64 {
	if b.a.Experts.ReplicatedCombine {
		return b.tokens * int64(b.m.MoE.TopK) * int64(b.p.ExpertWidth())
	}
	return b.rows() * int64(b.p.ExpertWidth())
}

// combine adds the weighing of the experts' outputs in fp32. Element by element it
// makes the product in fp32, too, and two such gradients at once beside those of
// the rows; as a product of matrices one gradient, before there is one of the
// stream.
func (b *builder) combine() {
	if !b.a.Experts.FP32Combine {
		return
	}
	n, element := b.combined(), b.a.Types.Compute
	mean := float64(b.p.RoutedTokens(b.s))
	if b.a.Experts.ReplicatedCombine {
		mean = float64(b.tokens) * float64(b.m.MoE.TopK)
	}
	o := Operation{Name: "combine", Kind: Combine, Component: Experts, Elements: mean * float64(b.p.ExpertWidth())}
	b.keep(&o, plan.ModuleMoE, 4*n)
	if b.a.Experts.ReplicatedCombine {
		o.Forward, o.Backward = 2*n*element, 4*n-b.stream
	} else {
		o.Forward, o.Backward = (4+2*element)*n, (2*4+2*element)*n
	}
	b.add(o)
}

// SharedWidth is the FFN width of all shared experts together; 0: none.
func SharedWidth(e *job.MoE) int {
	if e.SharedExperts == 0 {
		return 0
	}
	if e.SharedExpertFFNHiddenSize > 0 {
		return e.SharedExpertFFNHiddenSize
	}
	return e.SharedExperts * e.ExpertFFNHiddenSize
}
