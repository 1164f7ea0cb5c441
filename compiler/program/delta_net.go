package program

import "github.com/ndc-dev/ndc/lang/job"

// deltaNet lists a gated delta net. Its projection makes query and key of every
// key head, value and gate of every value head, and two scalars of each; query,
// key and value go through the convolution (arXiv:2412.06464). The scan reads query and key
// repeated for every value head, and keeps them, the value, the two scalars, and for
// every token a row of its chunk's matrix (flash-linear-attention 0.4.2, chunk.py). The
// norm of query and key keeps what it made, and the gate is copied and multiplies the
// normalised output, which is kept, too.
func (b *builder) deltaNet() { b.mixer(deltaNetMixer(b.m.DeltaNet, b.a.Layers.DeltaNetChunk)) }

func deltaNetMixer(a *job.DeltaNet, chunk int) *mixer {
	keys, values := a.KeyHeads*a.KeyHeadDim, a.ValueHeads*a.ValueHeadDim
	repeated := 2 * a.ValueHeads * a.KeyHeadDim
	return &mixer{
		name: "delta_net", projected: 2*keys + 2*values + 2*a.ValueHeads,
		convolved: 2*keys + values, kernel: a.ConvKernel,
		heads: a.ValueHeads, inner: values,
		norm: vector("delta_net.gated_norm.weight", Replicated, a.ValueHeadDim),
		// four products with the state
		flops:   2 * 4 * float64(a.ValueHeads*a.KeyHeadDim*a.ValueHeadDim),
		scanned: repeated + 2*values + states(a.ValueHeads*a.KeyHeadDim*a.ValueHeadDim, chunk),
		kept:    repeated + values + (chunk+4)*a.ValueHeads + 2*keys + 2*values,
	}
}
