package program

// mixer is a block that carries a state along the sequence: one projection makes
// all that the scan reads, a causal convolution smooths a part of it, and a
// projection of the normalised output ends the block. Heads, and with them every
// width, are cut over the tensor group.
type mixer struct {
	name      string
	projected int  // outputs of the first projection
	convolved int  // of them through the convolution
	kernel    int  // tokens that the convolution sees
	biased    bool // the convolution has a bias
	heads     int  // with a decay and its offset each
	skip      bool // a head's input is added to its output with a weight
	inner     int  // elements of the scan's output
	norm      Weight
	flops     float64 // of the scan, forward per token
	// scanned is what the scan reads and writes per token, in elements; kept the
	// elements that its backward pass needs beside its inputs.
	scanned, kept int
}

// mixer adds the operations of a mixer.
func (b *builder) mixer(x *mixer) {
	m, element, tp := b.m, b.a.Types.Compute, int64(b.s.TensorParallel)
	b.open(x.name)
	b.norm(0, residence{})
	local := func(width int) int64 { return b.tokens * int64(width) / tp }
	in := Operation{Name: x.name + ".in", Component: Mixer,
		Weights: b.weights(matrix(x.name+".in.weight", TensorSharded, x.projected, m.HiddenSize)),
		GEMM:    GEMM{M: int(b.tokens), N: x.projected / b.s.TensorParallel, K: m.HiddenSize, Groups: 1, Count: 1},
		Before:  TensorGather, Gathered: m.HiddenSize}
	b.writeKept(&in, 0, local(x.projected)*element)
	b.add(in)
	convolution := Operation{Name: x.name + ".convolution", Kind: Convolution, Component: Mixer, Elements: float64(local(x.convolved)),
		Weights: b.weights(vector(x.name+".convolution.weight", TensorSharded, x.convolved*x.kernel))}
	if x.biased {
		convolution.Weights = append(convolution.Weights, vector(x.name+".convolution.bias", TensorSharded, x.convolved))
	}
	b.add(convolution)
	scan := Operation{Name: x.name + ".scan", Kind: Scan, Component: Mixer, Elements: float64(local(x.scanned)), FLOPs: x.flops,
		Weights: b.weights(vector(x.name+".decay", TensorSharded, x.heads), vector(x.name+".offset", TensorSharded, x.heads))}
	if x.skip {
		scan.Weights = append(scan.Weights, vector(x.name+".skip", TensorSharded, x.heads))
	}
	b.keep(&scan, 0, local(x.kept+x.inner)*element)
	// convolution and scan again, beside the gradients of what they read and wrote
	scan.Backward = local(x.projected+x.convolved+2*x.inner+x.scanned) * element
	b.add(scan)
	norm := Operation{Name: x.name + ".gated_norm", Kind: GatedNorm, Component: Mixer, Elements: float64(local(x.inner)), Weights: b.weights(x.norm)}
	b.keep(&norm, 0, b.asInput(local(x.inner))+4*b.tokens)
	b.add(norm)
	out := Operation{Name: x.name + ".out", Component: Mixer,
		Weights: b.weights(matrix(x.name+".out.weight", TensorSharded, m.HiddenSize, x.inner)),
		GEMM:    GEMM{M: int(b.tokens), N: m.HiddenSize, K: x.inner / b.s.TensorParallel, Groups: 1, Count: 1},
		After:   TensorReduce}
	b.write(&out, b.tokens*int64(m.HiddenSize)*element)
	b.add(out)
	b.close(Mixer)
}

// states are the elements of the compute type that the states between chunks of a
// scan take per token, in fp32; none where no runtime says how long a chunk is.
func states(state, chunk int) int {
	if chunk == 0 {
		return 0
	}
	return int(ceil(int64(2*state), chunk))
}
