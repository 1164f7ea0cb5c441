package program

import "github.com/ndc-dev/ndc/lang/job"

// mamba lists a Mamba-2 mixer. Its projection makes, in this order, gate and
// inner stream of every head, the state's input and output maps of every group
// and the time step of every head; all but gate and time step go through the
// convolution (arXiv:2405.21060, section 7). The scan multiplies its output by the gate
// and keeps what it was before; the norm keeps the product.
func (b *builder) mamba() { b.mixer(mambaMixer(b.m.Mamba, b.a.Layers.MambaChunk)) }

func mambaMixer(a *job.Mamba, chunk int) *mixer {
	inner, maps := a.InnerSize(), 2*a.Groups*a.StateDim
	return &mixer{
		name: "mamba", projected: 2*inner + maps + a.Heads,
		convolved: inner + maps, kernel: a.ConvKernel, biased: true,
		heads: a.Heads, skip: true, inner: inner,
		norm:    vector("mamba.gated_norm.weight", TensorSharded, inner),
		flops:   7 * float64(inner*a.StateDim),
		scanned: inner + maps + states(inner*a.StateDim, chunk),
		kept:    inner,
	}
}
