package estimate

import (
	"cmp"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/units"
)

// operation times one operation of a block, or leaves it to what happens to the
// residual stream of the whole layer.
func (b *builder) operation(o *program.Operation, block *blockTimes, s *stream) {
	switch o.Kind {
	case program.Linear, program.GroupedLinear:
		b.multiply(o, block)
	case program.AttentionCore:
		b.attention(o)
	case program.Norm:
		s.norms += o.Elements
	case program.Residual:
		s.sums += o.Elements
	case program.Dropout:
		s.dropouts += o.Elements
	default:
		b.memoryBound(o)
	}
}

// repeat adds the forward of an operation to the modules of selective recompute
// that run it again.
func (b *builder) repeat(m plan.Modules, t units.Seconds) {
	for ; m != 0; m &^= m.First() {
		b.repeated[moduleIndex(m)] += t
	}
}

// multiply times a matrix multiplication.
func (b *builder) multiply(o *program.Operation, block *blockTimes) {
	t, at := b.linear(o)
	b.fwd[at] += t.Forward
	b.bwd[at] += t.Backward()
	b.weight += t.WeightGradient
	b.repeat(o.Modules, t.Forward)
	if o.Kind == program.GroupedLinear && b.wholeInput() {
		block.gathers, block.whole, block.in, block.out = true, true, o.Modules, o.Modules
	}
	if o.After == program.WidthGather { // no block begins or ends with it
		b.joinWidth(o, &t)
		return
	}
	if o.Before == program.TensorGather {
		block.gathers, block.in = true, o.Modules
		block.width += o.Gathered
		block.column += t.Forward
	}
	if o.After == program.HeadGather {
		b.joinHeads(o)
	}
	b.last, b.reduces = pass{}, o.After == program.TensorReduce
	if b.reduces {
		block.out = o.Modules
		block.row += t.Forward
		b.last.lines[at] = t.Forward
	} else {
		block.columns += o.GEMM.Count
	}
}

// linear times the passes of one matrix multiplication; experts wait for their
// busiest rank.
func (b *builder) linear(o *program.Operation) (compute.Passes, line) {
	p, n := &o.GEMM, float64(o.GEMM.Count)
	if o.Kind == program.GroupedLinear {
		b.experts = p.Groups
		rows := float64(p.M) / float64(p.Groups) * max(1, b.e.model.MoE.LoadImbalance)
		g := compute.Groups{Count: p.Groups, Rows: max(int(rows), 1)}
		if b.fusesExperts() {
			g.InputReady, g.GradientReady = o.After == program.ExpertCombine, o.Before == program.ExpertDispatch
		}
		dtype := b.dtype
		if b.e.runtime.Experts.Unquantised {
			dtype = b.e.base
		}
		t := b.e.device.GroupedLinear(dtype, g, p.N, p.K)
		if b.e.runtime.LowPrecision.QuantisesWeights {
			t = t.Plus(b.e.device.QuantiseWeights(dtype, p.Groups*p.N, p.K))
		}
		return scale(t, n/float64(b.e.grouped*b.e.rate(dtype))), lineExperts
	}
	dtype := b.dtype
	if o.Component == program.Router {
		dtype = b.e.base
	}
	t := b.e.linear(dtype, p)
	if b.gathersQuantised() {
		b.quantisedApart(o, &t)
	}
	return scale(t, n/float64(b.e.rate(dtype))), lineLinear
}

// gathersQuantised reports whether what is gathered over the tensor group comes in the
// layer's 8 bits.
func (b *builder) gathersQuantised() bool {
	return b.e.runtime.TensorParallel.GathersQuantised && b.l.SequenceParallel && b.dtype == compute.FP8 && !b.e.runtime.LowPrecision.RowScaled
}

// quantisedApart takes from a multiplication what the other ranks of the tensor group
// quantise of its input, or of the gradient of its output, before it is gathered.
func (b *builder) quantisedApart(o *program.Operation, t *compute.Passes) {
	others := 1 - 1/float64(b.l.TensorParallel)
	q := b.e.device.Quantise(b.dtype, o.GEMM.M, o.GEMM.N, o.GEMM.K)
	if o.Before == program.TensorGather {
		t.Forward -= q.Forward.Times(others)
	}
	if o.After == program.TensorReduce {
		t.InputGradient -= q.InputGradient.Times(others)
	}
}

// linearKey is what the time of one product depends on.
type linearKey struct {
	dtype   compute.DType
	m, n, k int
}

// linear times one product, from the cache: many tables share it.
func (e *Evaluator) linear(t compute.DType, p *program.GEMM) compute.Passes {
	k := linearKey{t, p.M, p.N, p.K}
	passes, ok := e.linears[k]
	if !ok {
		passes = e.device.Linear(t, p.M, p.N, p.K)
		if e.runtime.LowPrecision.QuantisesWeights {
			passes = passes.Plus(e.device.QuantiseWeights(t, p.N, p.K))
		}
		e.linears[k] = passes
	}
	return passes
}

// scale multiplies all passes.
func scale(p compute.Passes, n float64) compute.Passes {
	return compute.Passes{Forward: p.Forward.Times(n), InputGradient: p.InputGradient.Times(n), WeightGradient: p.WeightGradient.Times(n)}
}

// attention times the core and its context-parallel communication.
func (b *builder) attention(o *program.Operation) {
	c := &o.Core
	split, cp := b.g.heads.Size(), units.Seconds(b.g.ring.Size())
	a := compute.Attention{
		Kernel: b.e.kernel(b.x), DType: b.e.attentionType(b.dtype), Dropout: b.e.model.Dropout > 0,
		Batch: c.Batch, Heads: max(c.Heads/split, 1), KVHeads: max(c.KVHeads/split, 1),
		Queries: c.Keys, Keys: c.Keys, HeadDim: c.QKDim, ValueDim: c.VDim,
		Causal: true, Window: c.Window,
	}
	f, w := b.e.device.Attention(&a)
	f, w = f/cp, w/cp
	if a.Kernel == compute.FlashAttention1 {
		rate := b.e.flash1(c.QKDim)
		f, w = f.At(rate), w.At(rate)
	}
	if cp > 1 {
		kept := b.e.ring
		if b.x.ContextParallelType != "all_gather" { // whose keys and values come at once
			kept /= units.Ratio(1 + b.e.ringBlock*float64(cp)/float64(c.Keys))
		}
		f, w = f.At(kept), w.At(kept)
	}
	b.fwd[lineAttention] += f
	b.bwd[lineAttention] += w
	b.repeat(o.Modules, f)
	b.contextParallel(c, o.Modules, f, w)
}

// flash1 is the rate of the first FlashAttention over the second's.
func (e *Evaluator) flash1(headDim int) units.Ratio {
	rate := units.Ratio(e.parameters.at("flash1"))
	if headDim > 64 {
		rate *= units.Ratio(e.parameters.at("flash1_wide"))
	}
	return rate
}

// attentionType is what attention computes in: 16 bits, unless the run asks for
// the layer's own 8.
func (e *Evaluator) attentionType(layer compute.DType) compute.DType {
	if e.runtime.LowPrecision.Attention {
		return layer
	}
	return e.base
}

// kernel is the attention kernel that runs.
func (e *Evaluator) kernel(x *plan.Execution) compute.AttentionKernel {
	switch x.Attention {
	case "unfused":
		return compute.Unfused
	case "fused":
		return e.kernels.fused
	case "flex_flash":
		return e.kernels.flexFlash
	case "varlen":
		return e.kernels.varlen
	}
	return e.kernels.flash
}

// attentionKernels are those of the values of the option attention that an engine
// chooses for.
type attentionKernels struct{ flash, fused, flexFlash, varlen compute.AttentionKernel }

// kernelsOf are the kernels of an engine.
func kernelsOf(a *runtime.Attention) attentionKernels {
	named := func(name string) compute.AttentionKernel { return compute.KernelNamed(cmp.Or(name, a.Flash)) } // no plan asks for what it lacks
	return attentionKernels{flash: named(a.Flash), fused: named(a.Fused), flexFlash: named(a.FlexFlash), varlen: named(a.Varlen)}
}
