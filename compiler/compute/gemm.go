package compute

import (
	"github.com/ndc-dev/ndc/compiler/compute/surface"
	"github.com/ndc-dev/ndc/lang/units"
)

// GEMM is the time of C(m×n) = A(m×k)·B(k×n) as a linear layer's forward pass
// runs it: m tokens, n outputs, k inputs. Zero for an empty shape.
func (d *Device) GEMM(t DType, m, n, k int) units.Seconds {
	if m <= 0 || n <= 0 || k <= 0 {
		return 0
	}
	return units.Seconds(d.gemmSeconds(t, surface.Shape{M: float64(m), N: float64(n), K: float64(k)}))
}

// gemmSeconds never beats the peak, which a surface may beyond its grid.
func (d *Device) gemmSeconds(t DType, s surface.Shape) float64 {
	b := &d.gemm[t]
	return max(s.FLOPs()/b.roof.FLOPS, b.roof.GEMM(s, b.record.Tile)*b.record.Correction(s.Point()))
}

// Linear is the time of the three passes of a linear layer of m tokens, n
// outputs and k inputs, quantising of activations and gradients included. That
// of weights is not: see QuantiseWeights.
//
// The input gradient is an (m × n)·(n × k) product, the weight gradient an
// (n × m)·(m × k) one, accumulated in 32 bits. Both do the arithmetic of the
// forward pass; their rates relative to it are measured (data/passes.jsonl).
// Where few tokens are beyond what was measured, bounds hold: the weight gradient
// writes 4·n·k bytes, and both together take no less than the forward pass.
func (d *Device) Linear(t DType, m, n, k int) Passes {
	p := &d.passes[t]
	out := Passes{
		Forward:        d.GEMM(t, m, n, k) * units.Seconds(p.Forward),
		InputGradient:  d.GEMM(t, m, k, n) * units.Seconds(p.InputGradient),
		WeightGradient: d.GEMM(t, n, k, m) * units.Seconds(p.WeightGradient),
	}
	if m > 0 {
		written := units.Seconds(4 * float64(n) * float64(k) / float64(d.gpu.MemoryBandwidth))
		out.WeightGradient = max(out.WeightGradient, written, out.Forward-out.InputGradient)
	}
	return out.Plus(d.quantise(p, float64(m), n, k))
}

// Quantise is the part of Linear that turns inputs and gradients into the data type:
// what a pass saves whose input comes in that type.
func (d *Device) Quantise(t DType, m, n, k int) Passes {
	return d.quantise(&d.passes[t], float64(m), n, k)
}

// QuantiseWeights is the time of turning n × k weights into the data type, once for
// the forward pass and once, by their other side, for the input gradient: what
// Linear takes besides where they are not kept in it from one micro-batch to the next.
// Bytes for an element are those of inputs and gradients, which were measured together
// with weights (data/passes.jsonl).
func (d *Device) QuantiseWeights(t DType, n, k int) Passes {
	p := &d.passes[t]
	perByte := float64(n) * float64(k) / float64(d.gpu.MemoryBandwidth)
	return Passes{Forward: units.Seconds(p.QuantiseForward * perByte), InputGradient: units.Seconds(p.QuantiseInputGradient * perByte)}
}

// GroupedLinear is Linear for g.Count experts of g.Rows tokens each: plain kernels
// in turn behind one launch, and never less than one multiplication of all rows.
func (d *Device) GroupedLinear(t DType, g Groups, n, k int) Passes {
	if g.Count <= 0 || g.Rows <= 0 || n <= 0 || k <= 0 {
		return Passes{}
	}
	each, whole := d.Linear(t, g.Rows, n, k), d.Linear(t, g.Count*g.Rows, n, k)
	inTurn := func(each, whole units.Seconds) units.Seconds {
		return max(d.launch+units.Seconds(g.Count)*(each-d.launch), whole)
	}
	out := Passes{
		Forward:        inTurn(each.Forward, whole.Forward),
		InputGradient:  inTurn(each.InputGradient, whole.InputGradient),
		WeightGradient: inTurn(each.WeightGradient, whole.WeightGradient),
	}
	q := d.Quantise(t, g.Count*g.Rows, n, k)
	if g.InputReady {
		out.Forward -= q.Forward
	}
	if g.GradientReady {
		out.InputGradient -= q.InputGradient
	}
	return out
}

// quantise is the time of turning m rows of inputs and of gradients into the
// data type, pass by pass.
func (d *Device) quantise(p *passFactors, m float64, n, k int) Passes {
	perByte := m / float64(d.gpu.MemoryBandwidth)
	return Passes{
		Forward:        units.Seconds(p.QuantiseForward * float64(k) * perByte),
		InputGradient:  units.Seconds(p.QuantiseInputGradient * float64(n) * perByte),
		WeightGradient: units.Seconds(p.QuantiseWeightGradient * float64(n+k) * perByte),
	}
}

// Plus adds pass by pass.
func (p Passes) Plus(q Passes) Passes {
	return Passes{p.Forward + q.Forward, p.InputGradient + q.InputGradient, p.WeightGradient + q.WeightGradient}
}
