package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// pass is one layer (or the embedding, or the head) for one micro-batch on one
// rank: its critical path forward and backward, split into lines, and what it
// communicates. State gathers are not part of it (state.go).
type pass struct {
	forward, backward units.Seconds
	weight            units.Seconds // of the backward, what only the gradients of weights need
	exposed           units.Seconds // communication on the critical path; set by terms
	lines             costs
	load              load
	elements          program.Elements // parameters on this rank
}

// layerTable holds the passes of all kinds of layer for one way of cutting
// and running them. Index: kind, then whether the layer runs in the plain
// 16-bit type although the job is low precision, then whether it is recomputed.
type layerTable struct {
	layers                  []pass
	embedding, head, mtp    pass
	transfer                units.Bytes // activations at a pipeline boundary
	gradientBytesPerElement float64
}

// at is the pass of one layer.
func (t *layerTable) at(kind int, plain, recomputed bool) *pass {
	i := kind * 4
	if plain {
		i += 2
	}
	if recomputed {
		i++
	}
	return &t.layers[i]
}

// builder computes the passes of one layerTable.
type builder struct {
	e      *Evaluator
	l      *plan.Layout
	x      *plan.Execution
	g      *groups
	dtype  compute.DType // of the layer being built
	tokens float64       // per micro-batch on this context-parallel rank
	shard  float64       // tokens outside the tensor-parallel regions
	fwd    costs
	bwd    costs
	weight units.Seconds // of bwd, matrix products that make gradients of weights
	load   load          // forward and backward
	first  load          // forward alone
	last   pass          // of the forward, what follows the last tensor that the backward needs
	// what recompute modules repeat, forward
	core, norms, activation, up, mlp, moe, shared units.Seconds
	overlapped                                    units.Seconds    // communication hidden behind compute
	column, row                                   [2]units.Seconds // forward of the products after a gather and before a scatter, in attention and MLP
	columns                                       [2]int           // products of the input there
}

// buildTable makes a table.
func (e *Evaluator) buildTable(l *plan.Layout, x *plan.Execution, g *groups) *layerTable {
	kinds := e.arch.Kinds()
	t := &layerTable{layers: make([]pass, 4*len(kinds)), gradientBytesPerElement: bytesOf(x.GradientDType)}
	for k := range kinds {
		t.build(e.builder(l, x, g, false), k, false)
		if e.low == e.plain {
			*t.at(k, true, false), *t.at(k, true, true) = *t.at(k, false, false), *t.at(k, false, true)
		} else {
			t.build(e.builder(l, x, g, true), k, true)
		}
	}
	t.embedding = e.embedding(l, x, g)
	t.head = e.head(l, x, g)
	if k := e.arch.MTPKind(); k >= 0 {
		t.mtp = *t.at(k, true, l.Recompute != plan.RecomputeNone)
		t.mtp.lines.add(1, &t.head.lines)
		t.mtp.forward += t.head.forward
		t.mtp.backward += t.head.backward
		t.mtp.weight += t.head.weight
		t.mtp.load.add(1, &t.head.load)
	}
	b := e.builder(l, x, g, true)
	t.transfer = units.Bytes(b.shard * 2 * float64(e.model.HiddenSize))
	if e.scatters(l) {
		t.transfer /= units.Bytes(l.TensorParallel)
	}
	t.seal()
	return t
}

// build makes the passes of a kind of layer, without and with the recompute
// of the builder's layout.
func (t *layerTable) build(b *builder, kind int, plain bool) {
	b.layer(kind)
	without, with := t.at(kind, plain, false), t.at(kind, plain, true)
	*without = b.finish(kind, plan.RecomputeNone)
	*with = *without
	if b.l.Recompute != plan.RecomputeNone {
		*with = b.finish(kind, b.l.Recompute)
	}
}

// builder starts a layer.
func (e *Evaluator) builder(l *plan.Layout, x *plan.Execution, g *groups, plain bool) *builder {
	s := program.ShapeOf(l)
	b := &builder{e: e, l: l, x: x, g: g, dtype: e.low, tokens: float64(e.arch.Tokens(&s))}
	if plain {
		b.dtype = e.plain
	}
	b.shard = b.tokens
	if l.SequenceParallel {
		b.shard /= float64(l.TensorParallel)
	}
	return b
}

// layer fills in everything of one layer but its recompute.
func (b *builder) layer(kind int) {
	k := b.e.arch.Kinds()[kind]
	b.products(kind)
	if k.Has(job.AttentionBlock) {
		b.attention(kind)
	}
	b.memoryBound(k)
	b.mixers(kind)
	b.tensorParallel(k)
	if k.MoE {
		b.expertParallel()
	}
	b.host(k)
	slow := units.Seconds(b.e.contention) * b.overlapped
	b.fwd[lineContention] += slow / 3
	b.bwd[lineContention] += slow * 2 / 3
}

// finish turns what was collected into a pass with some recompute. Full
// recompute runs the forward again, its collectives included; where it stops
// early, without the MLP's second product, whose output nothing needs.
func (b *builder) finish(kind int, r plan.Recompute) pass {
	p := b.edge()
	switch r {
	case plan.RecomputeFull:
		again, load := b.fwd, b.first
		if b.e.runtime.Recompute.StopsEarly {
			again.add(-1, &b.last.lines)
			load.add(-1, &b.last.load)
		}
		p.lines.repeat(&again)
		p.load.add(1, &load)
		p.backward += again.sum()
	case plan.RecomputeSelective:
		again := b.selective()
		p.lines[lineRecompute] = again
		p.backward += again
	}
	if b.x.OffloadActivations {
		b.offload(&p, kind)
	}
	p.elements = b.e.arch.Elements(kind, program.SplitOf(b.l))
	return p
}

// offload sends what can move of what a layer keeps to the host behind its forward and brings
// it back behind its backward, over PCIe; what takes longer than the layer's
// compute is exposed.
func (b *builder) offload(p *pass, kind int) {
	t := b.e.overPCIe(float64(b.e.memory.Offloaded(b.l, b.x, kind)))
	f, w := max(0, t-p.forward), max(0, t-p.backward)
	p.lines[lineOffload] = f + w
	p.forward += f
	p.backward += w
}

// overPCIe is the time of bytes between a GPU and its host. Without a link
// described there is nothing to charge.
func (e *Evaluator) overPCIe(bytes float64) units.Seconds {
	bandwidth := float64(e.job.Cluster.PCIe.Bandwidth)
	if bandwidth == 0 {
		return 0
	}
	return units.Seconds(bytes / bandwidth)
}

// selective is the forward time of the modules that run again. The "op" policy
// saves attention, communication and every second matrix product
// and repeats the rest.
func (b *builder) selective() units.Seconds {
	var t units.Seconds
	for rest := b.l.RecomputeModules; rest != 0; rest &^= rest.First() {
		switch rest.First() {
		case plan.ModuleCoreAttention:
			t += b.core
		case plan.ModuleNorm:
			t += b.norms
		case plan.ModuleExpertActivation:
			t += b.activation
		case plan.ModuleLatentUp:
			t += b.up
		case plan.ModuleMLP:
			t += b.mlp
		case plan.ModuleMoE:
			t += b.moe
		case plan.ModuleSharedExperts:
			t += b.shared
		case plan.ModuleOperators:
			t += (b.fwd[lineLinear]+b.fwd[lineExperts])/2 + b.fwd[lineMemoryBound]
		}
	}
	return t
}

// products times the matrix multiplications.
func (b *builder) products(kind int) {
	s := program.ShapeOf(b.l)
	for _, o := range b.e.arch.Layer(kind, &s, &b.e.assembly).Linears() {
		p := &o.GEMM
		t, at := b.linear(o)
		b.fwd[at] += t.Forward
		b.bwd[at] += t.Backward()
		b.weight += t.WeightGradient
		b.module(o.Modules, t.Forward)
		half := 1
		if o.Component == program.Attention || o.Component == program.Mixer {
			half = 0
		}
		if p.Gathered {
			b.column[half] += t.Forward
		}
		if !p.Scattered {
			b.columns[half] += p.Count
		}
		if p.Scattered {
			b.row[half] += t.Forward
		}
		if o.Name == "mlp.out" {
			b.last.lines[at] += t.Forward
		}
	}
}

// linear times one product; experts wait for their busiest rank.
func (b *builder) linear(o *program.Operation) (compute.Passes, line) {
	p := &o.GEMM
	n := units.Seconds(p.Count)
	if o.Kind == program.GroupedLinear {
		rows := float64(p.M) / float64(p.Groups) * max(1, b.e.model.MoE.LoadImbalance)
		g := compute.Groups{Count: p.Groups, Rows: max(int(rows), 1)}
		if b.e.runtime.Experts.FusedMLP {
			g.InputReady, g.GradientReady = o.Name == "experts.out", o.Name == "experts.in"
		}
		t := b.e.device.GroupedLinear(b.dtype, g, p.N, p.K)
		return scale(t, n*units.Seconds(b.e.device.Sustained())/b.e.rate(b.dtype)/b.e.grouped(b.dtype)), lineExperts
	}
	dtype := b.dtype
	if o.Component == program.Router {
		dtype = b.e.plain
	}
	return scale(b.e.linear(dtype, p), n/b.e.rate(dtype)), lineLinear
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
		e.linears[k] = passes
	}
	return passes
}

// scale multiplies all passes.
func scale(p compute.Passes, n units.Seconds) compute.Passes {
	return compute.Passes{Forward: n * p.Forward, InputGradient: n * p.InputGradient, WeightGradient: n * p.WeightGradient}
}

// module adds a product's forward to the recompute modules that contain it.
func (b *builder) module(m plan.Modules, t units.Seconds) {
	if m&plan.ModuleLatentUp != 0 {
		b.up += t
	}
	if m&plan.ModuleMLP != 0 {
		b.mlp += t
	}
	if m&plan.ModuleSharedExperts != 0 {
		b.shared += t
	}
	if m&plan.ModuleMoE != 0 {
		b.moe += t
	}
}

// attention times the core and its context-parallel communication.
func (b *builder) attention(kind int) {
	s := program.ShapeOf(b.l)
	c := b.e.arch.CoreAttention(kind, &s)
	cp := units.Seconds(b.l.ContextParallel)
	a := compute.Attention{
		Kernel: b.e.kernel(b.x), DType: b.e.attentionType(b.dtype), Dropout: b.e.model.Dropout > 0,
		Batch: c.Batch, Heads: c.Heads, KVHeads: c.KVHeads,
		Queries: c.Keys, Keys: c.Keys, HeadDim: c.QKDim, ValueDim: c.VDim,
		Causal: true, Window: c.Window,
	}
	if b.x.ContextParallelType == "ulysses" && b.l.ContextParallel > 1 {
		a.Heads, a.KVHeads, cp = max(a.Heads/b.l.ContextParallel, 1), max(a.KVHeads/b.l.ContextParallel, 1), 1
	}
	f, w := b.e.device.Attention(&a)
	rate := b.e.flashShare(b.x, c.QKDim)
	f, w = f/cp/rate, w/cp/rate
	if cp > 1 {
		f, w = f/b.e.ring, w/b.e.ring
	}
	b.fwd[lineAttention], b.bwd[lineAttention] = f, w
	b.core = f
	b.contextParallel(&c, f, w)
}

// attentionType is what attention computes in: 16 bits, unless the run asks for
// the layer's own 8.
func (e *Evaluator) attentionType(layer compute.DType) compute.DType {
	if e.runtime.LowPrecision.Attention {
		return layer
	}
	return e.plain
}

// kernel is the attention kernel that runs.
func (e *Evaluator) kernel(x *plan.Execution) compute.AttentionKernel {
	switch x.Attention {
	case "unfused":
		return compute.Unfused
	case "fused":
		return e.kernels[1]
	}
	return e.kernels[0]
}

// host makes the layer at least as long as the host takes to launch it. CUDA
// graphs of whole steps take the host out; those of layers leave the experts,
// whose shapes change.
func (b *builder) host(k program.Kind) {
	t := b.e.hostLayer * units.Seconds(len(k.Blocks)) / 2 // as measured of attention and MLP
	if b.x.CUDAGraphs == "layer" || b.x.CUDAGraphs == "full" {
		t = 0
	}
	if k.MoE && b.x.CUDAGraphs != "full" {
		local := b.e.model.MoE.Experts / b.l.ExpertParallel
		t += b.e.hostMoE + units.Seconds(local)*b.e.hostExpert
	}
	if b.e.blocking { // the host waits for every kernel before it launches the next
		b.fwd[lineHost] += t
		b.bwd[lineHost] += b.e.hostBackward * t
		return
	}
	b.fwd[lineHost] += max(0, t-b.fwd.sum())
	b.bwd[lineHost] += max(0, b.e.hostBackward*t-b.bwd.sum())
}

// embedding is the lookup and its gradient on the first stage.
func (e *Evaluator) embedding(l *plan.Layout, x *plan.Execution, g *groups) pass {
	b := e.builder(l, x, g, true)
	n := b.tokens * float64(e.model.HiddenSize)
	b.fwd[lineHead] = b.bytes(compute.Elementwise, n*4)
	b.bwd[lineHead] = b.bytes(compute.Elementwise, n*10)
	b.embeddingReduce()
	return b.edge()
}

// head is the output projection and the loss on the last stage.
func (e *Evaluator) head(l *plan.Layout, x *plan.Execution, g *groups) pass {
	b := e.builder(l, x, g, true)
	vocabulary := e.target.PaddedVocab(e.model, l.TensorParallel)
	s := program.ShapeOf(l)
	p := e.arch.HeadGEMM(vocabulary/e.runtime.TensorParallel.HeadParts(l.TensorParallel), &s)
	t := e.linear(e.plain, &p)
	name := "loss_bytes.unfused"
	if x.CrossEntropy == "fused" || x.Compile && e.runtime.Loss.CompilesLoss {
		name = "loss_bytes.fused"
	}
	loss := e.device.Traffic(compute.CrossEntropy, units.Bytes(math.Round(b.tokens*float64(vocabulary/e.runtime.TensorParallel.LogitParts(l.TensorParallel))*e.parameters.at(name))))
	b.fwd[lineHead] = t.Forward/e.rate(e.plain) + loss/2
	b.bwd[lineHead] = t.Backward()/e.rate(e.plain) + loss/2
	b.weight = t.WeightGradient / e.rate(e.plain)
	b.headReduce(vocabulary)
	if e.runtime.Loss.RecomputesChunks && x.LossChunks > 1 {
		b.bwd.repeat(&b.fwd)
		b.load.add(1, &b.first)
	}
	return b.edge()
}

// edge turns what was collected into a pass without recompute, such as an
// embedding or a head.
func (b *builder) edge() pass {
	p := pass{forward: b.fwd.sum(), backward: b.bwd.sum(), weight: b.weight, lines: b.fwd, load: b.load}
	p.lines.add(1, &b.bwd)
	return p
}

// bytesOf is the size of one element of a named type.
func bytesOf(dtype string) float64 {
	switch dtype {
	case "fp32":
		return 4
	case "fp8":
		return 1
	}
	return 2
}
