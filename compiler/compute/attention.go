package compute

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/units"
)

// AttentionKernel is an implementation of softmax(QKᵀ)V.
type AttentionKernel uint8

// The attention kernels. Flash is the newest FlashAttention for the GPU's
// generation; FlashAttention2 pins the one of 2023, which runs everywhere.
const (
	Flash           AttentionKernel = iota
	Fused                           // cuDNN
	Unfused                         // separate matrix multiplications and softmax, scores in memory
	SDPA                            // torch.nn.functional.scaled_dot_product_attention
	FlashAttention2                 // FlashAttention 2 also where a newer one exists
	kernelCount
)

var kernelNames = [kernelCount]string{"flash", "fused", "unfused", "sdpa", "flash2"}

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
	Dropout           bool // only Unfused pays for it
}

// FLOPs of the forward pass: 2·b·heads·(d_qk + d_v) per pair of query and
// key that the mask keeps.
func (a *Attention) FLOPs() units.FLOPs { return units.FLOPs(a.scores().FLOPs()) }

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
	length := s.Point()[0]
	f, ratio := d.kernels[a.Kernel].at(a, length)
	t := d.attention.seconds(s, float64(a.Window)) * f
	if a.Deterministic {
		ratio *= facts.deterministic
	}
	return units.Seconds(t), units.Seconds(t * ratio)
}

// attentionSurfaces holds the measured forward kernels by head dimension.
type attentionSurfaces struct {
	roof     surface.Roof
	full     []*surface.Record // ascending head dimension
	windowed []*surface.Record // the narrowest window measured, ascending head dimension
	mla      *surface.Record
}

// bindAttention collects the relative's surfaces under this device's roof.
func (d *Device) bindAttention() attentionSurfaces {
	t := BF16
	if d.gpu.PeakFLOPS.BF16 == 0 {
		t = FP16
	}
	a := attentionSurfaces{roof: surface.Roof{FLOPS: float64(d.Peak(t)), Bandwidth: float64(d.gpu.MemoryBandwidth)}}
	for _, r := range d.relative.records {
		switch {
		case r.Operation == surface.MLA:
			a.mla = r
		case r.Operation == surface.Attention && r.Window == 0:
			a.full = append(a.full, r)
		case r.Operation == surface.Attention && r.Window <= narrowWindow:
			a.windowed = append(a.windowed, r)
		}
	}
	return a
}

// Windows between the narrowest measured and one that changes nothing are
// interpolated in their logarithm.
const (
	narrowWindow = 128
	wideWindow   = 8192
)

// seconds is the forward time of the measured kernel.
func (a *attentionSurfaces) seconds(s surface.Scores, window float64) float64 {
	roof, p := a.roof.Attention(s), s.Point()
	if a.mla != nil && s.QK > s.V {
		return roof * a.mla.Correction(p)
	}
	correction := interpolate(a.full, s.QK, p)
	if window <= 0 || window >= s.Keys || window >= wideWindow || len(a.windowed) == 0 {
		return roof * math.Exp(correction)
	}
	narrow := interpolate(a.windowed, s.QK, p)
	share := max(0, math.Log2(window/narrowWindow)/math.Log2(wideWindow/narrowWindow))
	windowed := roof * math.Exp(narrow+share*(correction-narrow))
	s.Pairs = s.AllPairs()
	return min(windowed, a.roof.Attention(s)*math.Exp(correction)) // a kernel may ignore the window
}

// interpolate is the logarithm of the correction at a head dimension between
// the measured ones.
func interpolate(records []*surface.Record, headDim float64, p surface.Point) float64 {
	last := len(records) - 1
	if headDim <= float64(records[0].HeadDim) {
		return records[0].At(p)
	}
	for i := range last {
		low, high := float64(records[i].HeadDim), float64(records[i+1].HeadDim)
		if headDim >= high {
			continue
		}
		share := math.Log2(headDim/low) / math.Log2(high/low)
		below := records[i].At(p)
		if share == 0 {
			return below
		}
		return below + share*(records[i+1].At(p)-below)
	}
	return records[last].At(p)
}

// Bytes per score that the unfused kernel moves beside its matrix
// multiplications, in 16 bits: the fused scale-mask-softmax of Megatron-LM
// reads and writes the scores once, its gradient reads two tensors and writes
// one; dropout reads, writes and keeps a byte of mask, and back.
const (
	softmaxForward, softmaxBackward = 4, 6
	dropoutForward, dropoutBackward = 5, 5
)

// unfused adds up batched matrix multiplications over the whole score matrix
// (no causal half) and the passes over it.
func (d *Device) unfused(a *Attention, s surface.Scores) (forward, backward units.Seconds) {
	batch := Groups{a.Batch * a.Heads, a.Queries}
	products := d.batched(a.DType, batch, a.Keys, int(s.QK)) + d.batched(a.DType, batch, int(s.V), a.Keys)
	elements := s.Sequences * s.Heads * s.Queries * s.Keys
	bytesForward, bytesBackward := float64(softmaxForward), float64(softmaxBackward)
	if a.Dropout {
		bytesForward += dropoutForward
		bytesBackward += dropoutBackward
	}
	forward = products + d.Traffic(Elementwise, units.Bytes(elements*bytesForward))
	return forward, 2*products + d.Traffic(Elementwise, units.Bytes(elements*bytesBackward))
}

// batched is a strided batch of plain multiplications: the rate of one of the
// whole batch's size, its own traffic as a floor.
func (d *Device) batched(t DType, g Groups, n, k int) units.Seconds {
	whole := d.GEMM(t, g.Count*g.Rows, n, k)
	b := &d.gemm[t]
	traffic := 2 * float64(g.Count) * float64(g.Rows*k+k*n+g.Rows*n)
	return max(whole, d.launch+units.Seconds(traffic/b.roof.Bandwidth))
}
