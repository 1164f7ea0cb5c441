// Package compute says how long a kernel takes on a GPU: matrix
// multiplications, grouped ones for experts, attention, and everything bound
// by memory, by shape, data type and pass. Times come from compact surfaces
// fitted to measured kernels by tools/fit (data/*.jsonl, each record with its
// source; docs/time-kernels.md has the formulas and the errors).
//
// It knows shapes, not transformers: which kernels a layer runs, and what
// overlaps them, is package estimate's. Communication is package collective's.
package compute

import (
	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// DType is the data type (and scaling recipe) that a kernel computes in.
type DType uint8

// The data types of the surfaces. The times of the low-precision types
// include quantising their inputs.
const (
	BF16       DType = iota
	FP16             // the rate of BF16 on GPUs that have both
	FP8              // one scale per tensor, from the tensor itself
	FP8Delayed       // one scale per tensor, from earlier steps
	FP8Block         // one scale per 128 × 128 block (weights) or 1 × 128 (activations)
	MXFP8            // one scale per 32 elements
	NVFP4            // one scale per 16 elements, 4 bits
	TF32
	FP32
	dtypeCount
)

var dtypeNames = [dtypeCount]string{"bf16", "fp16", "fp8", "fp8_delayed", "fp8_block", "mxfp8", "nvfp4", "tf32", "fp32"}

// String is the name in the data files.
func (t DType) String() string { return dtypeNames[t] }

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

	// The kernel before already quantised the input, the one after in the
	// backward pass the gradient of the output.
	InputReady, GradientReady bool
}

// Device is one GPU with its surfaces prepared. It is read-only and safe for
// concurrent use; its methods allocate nothing.
type Device struct {
	gpu       job.GPU
	relative  *relative // the measured GPU that lends its efficiencies
	gemm      [dtypeCount]bound
	attention surface.AttentionSet
	kernels   [kernelCount]kernelRates
	passes    [dtypeCount]passFactors
	traffic   [trafficCount]float64 // bytes per second, reached
	launch    units.Seconds
}

// bound is a surface under the roof of this device.
type bound struct {
	record *surface.Record
	roof   surface.Roof
}

// NewDevice prepares the surfaces of the GPU, or those of its nearest
// relative (see Extrapolated).
func NewDevice(g *job.GPU) *Device {
	d := &Device{gpu: *g, relative: nearest(g)}
	for t := range dtypeCount {
		runs := d.runs(t)
		d.gemm[t] = d.bind(surface.GEMM, runs)
		d.passes[t] = tables.passFactors(d.relative, runs)
	}
	d.attention = surface.NewAttentionSet(d.attentionRoof(), d.relative.records)
	for k := range kernelCount {
		d.kernels[k] = tables.kernelRates(d.relative, k)
	}
	for k := range trafficCount {
		d.traffic[k] = tables.trafficShare(d.relative, k) * float64(g.MemoryBandwidth)
	}
	d.launch = tables.launch
	return d
}

// Extrapolated reports that no kernel was measured on this GPU: efficiencies
// are those of Relative, scaled by the ratio of peaks.
func (d *Device) Extrapolated() bool { return !d.relative.measures(&d.gpu) }

// Relative is the catalogue name of the GPU whose measured kernels are used.
func (d *Device) Relative() string { return d.relative.name }

// Peak is the dense peak rate of the data type, or of the next wider one that
// the GPU has.
func (d *Device) Peak(t DType) units.FLOPsPerSecond {
	p := &d.gpu.PeakFLOPS
	for _, peak := range [...]struct {
		rate units.FLOPsPerSecond
		has  bool
	}{
		{p.FP4, t == NVFP4},
		{p.FP8, t >= FP8 && t <= NVFP4},
		{p.BF16, t != FP16 && t < TF32},
		{p.FP16, t <= NVFP4 && (t != BF16 || p.BF16 > 0)},
		{p.TF32, t == TF32},
	} {
		if peak.has && peak.rate > 0 {
			return peak.rate
		}
	}
	return p.FP32
}

// runs is the type that a kernel really computes in: 16 bits where the GPU
// lacks a narrower one.
func (d *Device) runs(t DType) DType {
	switch {
	case t == NVFP4 && d.gpu.PeakFLOPS.FP4 == 0, t >= FP8 && t < NVFP4 && d.gpu.PeakFLOPS.FP8 == 0:
		return BF16
	}
	return t
}

// bind finds the surface of an operation in a data type, or in the nearest
// type that was measured, and puts it under this device's roof.
func (d *Device) bind(operation string, t DType) bound {
	record := d.relative.find(operation, t)
	if record == nil {
		return bound{}
	}
	roof := record.Roof
	roof.FLOPS = float64(d.Peak(t))
	roof.Bandwidth = float64(d.gpu.MemoryBandwidth)
	if d.gpu.SMs > 0 {
		roof.SMs = d.gpu.SMs
	}
	return bound{record, roof}
}

// attentionRoof is the roof of the surfaces of attention, which are of 16
// bits; rates in 8 bits are relative to them.
func (d *Device) attentionRoof() surface.Roof {
	t := BF16
	if d.gpu.PeakFLOPS.BF16 == 0 {
		t = FP16
	}
	return surface.Roof{FLOPS: float64(d.Peak(t)), Bandwidth: float64(d.gpu.MemoryBandwidth)}
}
