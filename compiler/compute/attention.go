package compute

import (
	"math"
	"slices"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/units"
)

// AttentionKernel is an implementation of softmax(QKᵀ)V.
type AttentionKernel uint8

// The attention kernels. Flash is the newest FlashAttention for the GPU's
// generation; FlashAttention2 pins the one of 2023, which runs everywhere, and
// FlashAttention1 its predecessor.
const (
	Flash               AttentionKernel = iota
	Fused                               // cuDNN
	Unfused                             // separate matrix multiplications and softmax, scores in memory
	SDPA                                // what scaled dot-product attention of the framework picks
	FlashAttention2                     // FlashAttention 2 also where a newer one exists
	FlashAttention1                     // timed as the second, over which package estimate has its rate
	Flex                                // FlexAttention, compiled for a mask
	FlexFlash                           // FlexAttention, lowered to FlashAttention 4
	Varlen                              // the newest FlashAttention, told where each sequence begins
	MemoryEfficient                     // what SDPA picks before compute capability 8.0: no scores in memory, and no FlashAttention
	MemoryEfficientFP32                 // the same in fp32, where SDPA picks it on every GPU
	kernelCount
)

var kernelNames = [kernelCount]string{"flash", "fused", "unfused", "sdpa", "flash2", "flash1", "flex", "flex_flash", "varlen", "memory_efficient", "memory_efficient_fp32"}

// KernelNamed is the kernel of a name in the data files; an unknown one is a
// programmer's mistake.
func KernelNamed(name string) AttentionKernel {
	i := slices.Index(kernelNames[:], name)
	if i < 0 {
		panic("compute: no attention kernel " + name)
	}
	return AttentionKernel(i)
}

// String is the name in the data files.
func (k AttentionKernel) String() string { return kernelNames[k] }

// Attention is the core of an attention layer on one rank: softmax(QKᵀ)V
// without its projections.
type Attention struct {
	Kernel            AttentionKernel
	DType             DType
	Batch             int
	Heads, KVHeads    int // of this rank
	Queries, Keys     int // sequence lengths
	HeadDim, ValueDim int // of q and k; of v (ValueDim 0: the same)
	Causal            bool
	Window            int  // keys each query sees; 0: all
	Deterministic     bool // gradients summed in a fixed order
	Dropout           bool // of the probabilities
}

// low reports whether the kernel computes in 8 bits.
func (a *Attention) low() bool { return a.DType >= FP8 && a.DType < TF32 }

// scores translates to the surface's terms.
func (a *Attention) scores() surface.Scores {
	s := surface.Scores{
		Sequences: float64(a.Batch), Heads: float64(a.Heads), KVHeads: float64(max(1, a.KVHeads)),
		Queries: float64(a.Queries), Keys: float64(a.Keys), QK: float64(a.HeadDim), V: float64(a.ValueDim), Full: !a.Causal,
	}
	if a.ValueDim == 0 {
		s.V = s.QK
	}
	switch {
	case a.Causal:
		s.Pairs = surface.CausalPairs(s.Queries, s.Keys, float64(a.Window))
	case a.Window > 0 && a.Window < a.Keys:
		s.Pairs = s.Queries * float64(a.Window)
	default:
		s.Pairs = s.Queries * s.Keys
	}
	return s
}

// Attention is the time of the forward and of the whole backward pass.
func (d *Device) Attention(a *Attention) (forward, backward units.Seconds) {
	if a.Batch <= 0 || a.Heads <= 0 || a.Queries <= 0 || a.Keys <= 0 || a.HeadDim <= 0 {
		return 0, 0
	}
	s := a.scores()
	if a.Kernel == Unfused {
		return d.unfused(a, s)
	}
	t, ratio := d.measured(a, s)
	if a.Window > 0 && a.Window < a.Keys {
		whole := *a
		whole.Window = 0
		if all, r := d.measured(&whole, whole.scores()); all < t { // a kernel may ignore the window
			t, ratio = all, r
		}
	}
	if a.Deterministic && !a.low() && a.HeadDim <= int(s.V) {
		ratio *= tables.deterministic // nothing in 8 bits or with narrower values
	}
	forward, backward = units.Seconds(t), units.Seconds(t*ratio)
	if a.Dropout {
		forward, backward = forward.Times(tables.dropout.forward), backward.Times(tables.dropout.backward)
	}
	return forward, backward
}

// measured is the forward time by the surfaces and what the backward pass
// takes of it. Fewer sequences take no longer than more, by which a batch could
// be filled up.
func (d *Device) measured(a *Attention, s surface.Scores) (forward, ratio float64) {
	f, ratio := d.kernels[a.Kernel].at(a, s.Point()[0])
	forward = d.attention.Seconds(s, float64(a.Window))
	for range filledUp {
		s.Sequences *= 2
		forward = min(forward, d.attention.Seconds(s, float64(a.Window)))
	}
	return forward * f, ratio
}

// Over is how many times as long as another attention kernel one takes in the forward pass.
func (d *Device) Over(k, other AttentionKernel) float64 {
	return d.kernels[k].forward / d.kernels[other].forward
}

// filledUp is how often a batch is doubled to look for a shorter time: measured
// times fall from the fewest heads to more at the edge of the grids alone.
const filledUp = 2

// Bytes per score that the unfused kernel moves beside its matrix
// multiplications, in 16 bits. A causal fused scale-mask-softmax reads the half of
// the scores that the mask keeps and writes all, zeros included; its gradient reads
// half of two tensors and writes one (docs/time-kernels.md). Dropout reads, writes
// and keeps a byte of mask, and back, of all.
const (
	softmaxForward, softmaxBackward = 3, 4
	dropoutForward, dropoutBackward = 5, 5
)

// unfused adds up batched matrix multiplications over the whole score matrix
// (no causal half) and the passes over it.
func (d *Device) unfused(a *Attention, s surface.Scores) (forward, backward units.Seconds) {
	batch := Groups{Count: a.Batch * a.Heads, Rows: a.Queries}
	// Q·Kᵀ, and backward dO·Vᵀ, are as wide as the keys; P·V, and backward Pᵀ·dO, dS·K and
	// dSᵀ·Q, as a head.
	wide, narrow := d.batched(a.DType, batch, a.Keys, int(s.QK)), d.batched(a.DType, batch, int(s.V), a.Keys)
	elements := s.Sequences * s.Heads * s.Queries * s.Keys
	bytesForward, bytesBackward := float64(softmaxForward), float64(softmaxBackward)
	if a.Dropout {
		bytesForward += dropoutForward
		bytesBackward += dropoutBackward
	}
	forward = wide + narrow + d.Traffic(Elementwise, units.Bytes(elements*bytesForward))
	return forward, wide + 3*narrow + d.Traffic(Elementwise, units.Bytes(elements*bytesBackward))
}

// batched is a strided batch of plain multiplications: the rate of one of the
// whole batch's size, its own traffic as a floor. What is narrower than any measured
// multiplication runs in narrower tiles, whose time goes by the operands that they
// load (docs/time-kernels.md).
func (d *Device) batched(t DType, g Groups, n, k int) units.Seconds {
	b, width := &d.gemm[t], float64(n)
	narrowest := math.Exp2(b.record.Axes[1][0])
	whole := d.GEMM(t, g.Count*g.Rows, int(max(width, narrowest)), k)
	if rows := tables.narrow.rows; width < narrowest {
		columns := math.Ceil(width/tables.narrow.columns) * tables.narrow.columns
		whole = whole.Times((rows + columns) / (rows + narrowest))
	}
	traffic := 2 * float64(g.Count) * float64(g.Rows*k+k*n+g.Rows*n)
	return max(whole, d.launch+units.Seconds(traffic/b.roof.Bandwidth))
}
