// Package compute says how long a kernel takes on a GPU: matrix
// multiplications, grouped ones for experts, attention, and everything bound
// by memory, by shape, data type and pass. Times come from compact surfaces
// fitted to measured kernels by tools/fit (data/*.json, each with its source,
// count and error on left-out shapes); docs/time-kernels.md has the formulas.
//
// It knows shapes, not transformers: which kernels a layer runs, and what
// overlaps them, is package estimate's. Communication is package collective's.
package compute

import (
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// DType is the data type (and scaling recipe) that a kernel computes in.
type DType uint8

// The data types of the surfaces. Low-precision types include quantising
// their inputs.
const (
	BF16     DType = iota
	FP16           // rate and surface of BF16
	FP8            // one scale per tensor
	FP8Block       // one scale per 128 × 128 block (weights) or 1 × 128 (activations)
	MXFP8          // one scale per 32 elements
	NVFP4          // one scale per 16 elements, 4 bits
	TF32
	FP32
)

// Passes are the times of a layer's three parts. The whole backward pass is
// InputGradient + WeightGradient.
type Passes struct {
	Forward, InputGradient, WeightGradient units.Seconds
}

// Backward is the time of the whole backward pass.
func (p Passes) Backward() units.Seconds { return p.InputGradient + p.WeightGradient }

// Groups is a batch of equal matrix multiplications, as experts run them.
type Groups struct {
	Count int // groups on this rank
	Rows  int // rows of each
}

// Device is one GPU with its surfaces prepared. It is read-only and safe for
// concurrent use; its methods allocate nothing.
type Device struct {
	gpu job.GPU
}

// NewDevice picks the surfaces of the GPU, or those of its nearest relative
// (see Extrapolated).
func NewDevice(g *job.GPU) *Device { return &Device{gpu: *g} }

// Extrapolated reports that no kernel was measured on this GPU: efficiencies
// are those of Relative, scaled by the ratio of peaks.
func (d *Device) Extrapolated() bool { return false }

// Relative is the catalogue name of the GPU whose kernels are used.
func (d *Device) Relative() string { return d.gpu.Catalog }

// GEMM is the time of C(m×n) = A(m×k)·B(k×n) as a linear layer's forward pass
// runs it: m tokens, n outputs, k inputs. Zero for an empty shape.
func (d *Device) GEMM(t DType, m, n, k int) units.Seconds {
	return units.Seconds(2*float64(m)*float64(n)*float64(k)/(0.75*float64(d.gpu.PeakFLOPS.BF16))) + d.Launch()
}

// GroupedGEMM is the time of g.Count multiplications of g.Rows × k by k × n
// each in one kernel.
func (d *Device) GroupedGEMM(t DType, g Groups, n, k int) units.Seconds {
	return d.GEMM(t, g.Count*g.Rows, n, k)
}

// Linear is the time of the three passes of a linear layer of m tokens, k
// inputs and n outputs, quantising of the data type included.
func (d *Device) Linear(t DType, m, n, k int) Passes {
	return Passes{d.GEMM(t, m, n, k), d.GEMM(t, m, k, n), d.GEMM(t, n, k, m)}
}

// GroupedLinear is Linear for g.Count experts of g.Rows tokens each.
func (d *Device) GroupedLinear(t DType, g Groups, n, k int) Passes {
	f := d.GroupedGEMM(t, g, n, k)
	return Passes{f, f, f}
}

// AttentionKernel is an implementation of softmax(QKᵀ)V.
type AttentionKernel uint8

// The attention kernels of the language.
const (
	Flash   AttentionKernel = iota // flash-attention library
	Fused                          // cuDNN
	Unfused                        // separate matrix multiplications and softmax, scores in memory
)

// Attention is the core of an attention layer on one rank: softmax(QKᵀ)V
// without its projections.
type Attention struct {
	Kernel             AttentionKernel
	DType              DType
	Batch              int
	Heads, KVHeads     int // of this rank
	Queries, Keys      int // sequence lengths
	HeadDim, ValueDim  int // of q and k; of v (ValueDim 0: the same)
	Causal             bool
	Window             int // keys each query sees; 0: all
	DeterministicGrads bool
}

// FLOPs of the forward pass: 2·b·heads·(d_qk + d_v) per pair of query and
// key that the mask keeps.
func (a *Attention) FLOPs() units.FLOPs {
	v := a.ValueDim
	if v == 0 {
		v = a.HeadDim
	}
	return units.FLOPs(2 * float64(a.Batch*a.Heads) * float64(a.HeadDim+v) * a.pairs())
}

// pairs counts the (query, key) pairs of one head that the mask keeps. Causal
// masks are aligned at the last key.
func (a *Attention) pairs() float64 {
	q, k := float64(a.Queries), float64(a.Keys)
	if !a.Causal {
		return q * k
	}
	return q*k - q*(q-1)/2
}

// Attention is the time of the forward and of the whole backward pass.
func (d *Device) Attention(a *Attention) (forward, backward units.Seconds) {
	forward = units.Seconds(float64(a.FLOPs())/(0.5*float64(d.gpu.PeakFLOPS.BF16))) + d.Launch()
	return forward, 3 * forward
}

// MemoryBound is the time of an elementwise kernel that reads and writes
// bytes in total.
func (d *Device) MemoryBound(bytes units.Bytes) units.Seconds {
	return units.Seconds(float64(bytes)/(0.85*float64(d.gpu.MemoryBandwidth))) + d.Launch()
}

// Launch is the shortest time from one small kernel to the next.
func (d *Device) Launch() units.Seconds { return 4e-6 }
