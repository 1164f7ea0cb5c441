package estimate

import (
	"math"
	"math/bits"

	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// pass is one layer (or the embedding, or the head) for one micro-batch on one
// rank: its critical path forward and backward, split into lines, and what it
// communicates. State gathers are not part of it (state.go).
type pass struct {
	forward, backward units.Seconds
	weight            units.Seconds // of the backward, what only the gradients of weights need
	host              units.Seconds // in which the host launches the forward
	exposed           units.Seconds // communication on the critical path; set by terms
	lines             costs
	collectives       collectives
	elements          program.Elements // parameters on this rank
}

// layerTable holds the passes of all kinds of layer for one way of cutting
// and running them. Index: kind, then whether the layer runs in the base
// 16-bit type although the job is low precision, then whether it is recomputed.
type layerTable struct {
	layers                  []pass
	embedding, head, mtp    pass
	transfer                units.Bytes // activations at a pipeline boundary
	gradientBytesPerElement float64
}

// at is the pass of one layer.
func (t *layerTable) at(kind int, base, recomputed bool) *pass {
	i := kind * 4
	if base {
		i += 2
	}
	if recomputed {
		i++
	}
	return &t.layers[i]
}

// inBase reports whether a place in layerTable.layers is that of a layer in the base type.
func inBase(at int) bool { return at%4 >= 2 }

// builder computes the passes of one layerTable.
type builder struct {
	e      *Evaluator
	l      *plan.Layout
	x      *plan.Execution
	g      *groups
	dtype  compute.DType // of the layer being built
	tokens float64       // per micro-batch on this context-parallel rank
	shard  float64       // tokens outside the tensor-parallel regions

	fwd         costs
	bwd         costs
	weight      units.Seconds // of bwd, GEMMs that make gradients of weights
	collectives collectives   // forward and backward
	first       collectives   // forward alone
	launch      units.Seconds // the host's, of the forward
	slow        units.Seconds // by which hidden communication slows compute
	optional    units.Seconds // the part of it that an option hides

	blocks   []blockTimes
	repeated [16]units.Seconds // forward of what each module of selective recompute repeats
	again    []exchange        // and its collectives
	experts  int               // of a rank
	// last is what follows the last tensor that the backward pass needs, where the
	// layer ends with a linear operation whose output is reduced.
	last    pass
	reduces bool
}

// exchange is a collective of the forward, which selective recompute of its
// modules runs again.
type exchange struct {
	modules    plan.Modules
	at         collectiveKind
	calls      int
	bytes      units.Bytes
	t, exposed units.Seconds
}

// blockTimes is what the collectives over the tensor group around a block stand
// beside.
type blockTimes struct {
	gathers     bool
	whole       bool          // routed experts read what is gathered
	width       int           // per token, of what linear operations gather
	in, out     plan.Modules  // that run what stands before and after the block again
	column, row units.Seconds // forward of the GEMMs after a gather and before a reduction
	columns     int           // GEMMs whose output is not reduced
}

// buildTable makes a table.
func (e *Evaluator) buildTable(l *plan.Layout, x *plan.Execution, g *groups) *layerTable {
	t := &layerTable{}
	e.fillTable(t, e.listingOf(program.ShapeOf(l)), l, x, g)
	return t
}

// fillTable makes a table on the memory of an earlier one. What has no experts is
// the same however those are cut and run: tables of a mixture share it.
func (e *Evaluator) fillTable(t *layerTable, operations *listing, l *plan.Layout, x *plan.Execution, g *groups) {
	if e.model.MoE == nil {
		e.fillDense(t, operations, l, x, g)
	} else {
		k := e.withoutExperts(e.tableKey(l, x), x)
		dense := e.dense[k]
		if dense == nil {
			dense = &layerTable{}
			e.fillDense(dense, operations, l, x, g)
			remember(e.dense, k, dense, mostTables)
		}
		layers := append(t.layers[:0], dense.layers...)
		*t = *dense
		t.layers = layers
		for k, layer := range operations.layers {
			if e.arch.Kinds()[k].MoE {
				e.buildKind(t, layer, k, l, x, g)
			}
		}
	}
	t.gradientBytesPerElement = x.GradientBytes()
	if k := e.arch.MTPKind(); k >= 0 {
		t.mtp = *t.at(k, e.quantised == compute.NVFP4, l.Recompute != plan.RecomputeNone && l.RecomputeMethod != "block")
		for _, end := range [...]*pass{&t.embedding, &t.head} {
			t.mtp.lines.add(1, &end.lines)
			t.mtp.forward += end.forward
			t.mtp.backward += end.backward
			t.mtp.weight += end.weight
			t.mtp.collectives.add(1, &end.collectives)
		}
	}
	t.seal()
}

// fillDense makes what of a table has no experts, on the memory of an earlier one.
func (e *Evaluator) fillDense(t *layerTable, operations *listing, l *plan.Layout, x *plan.Execution, g *groups) {
	*t = layerTable{layers: grow(t.layers, 4*len(e.arch.Kinds()))}
	for k, layer := range operations.layers {
		if !e.arch.Kinds()[k].MoE {
			e.buildKind(t, layer, k, l, x, g)
		}
	}
	t.embedding = e.embedding(l, x, g, &operations.start)
	t.head = e.head(l, x, g, &operations.end)
	b := e.start(l, x, g, true)
	t.transfer = units.Bytes(b.shard * 2 * float64(e.model.HiddenSize))
	if e.scatters(l) {
		t.transfer /= units.Bytes(l.TensorParallel)
	}
}

// buildKind makes the passes of a kind of layer, in low precision and in the base
// type.
func (e *Evaluator) buildKind(t *layerTable, layer program.Layer, k int, l *plan.Layout, x *plan.Execution, g *groups) {
	t.build(e.start(l, x, g, false), layer, k, false)
	if e.quantised == e.base {
		*t.at(k, true, false), *t.at(k, true, true) = *t.at(k, false, false), *t.at(k, false, true)
	} else {
		t.build(e.start(l, x, g, true), layer, k, true)
	}
}

// listing is what a micro-batch runs on a rank.
type listing struct {
	layers     []program.Layer // by kind
	start, end program.Block
}

// mostListings bounds what is remembered of shapes, of each some 50 kB.
const mostListings = 1 << 10

// listingOf lists the operations of a shape, from the cache: many tables share
// them, and what has no experts is the same however they are cut.
func (e *Evaluator) listingOf(s program.Shape) *listing {
	known := e.listings[s]
	if known == nil {
		known = &listing{}
		e.list(known, s)
		remember(e.listings, s, known, mostListings)
	}
	return known
}

// list lists the operations of a shape on the memory of an earlier list.
func (e *Evaluator) list(on *listing, s program.Shape) {
	kinds := e.arch.Kinds()
	on.layers = grow(on.layers, len(kinds))
	without := s
	without.ExpertParallel, without.ExpertTensorParallel = 1, 1
	if s == without {
		on.start, on.end = e.arch.Start(&s, &e.assembly), e.arch.End(&s, &e.assembly, e.target.Vocabulary(e.model, s.TensorParallel))
		for k := range kinds {
			on.layers[k] = e.arch.Layer(k, &s, &e.assembly)
		}
		return
	}
	whole := e.listingOf(without)
	on.start, on.end = whole.start, whole.end
	for k := range kinds {
		if kinds[k].MoE {
			on.layers[k] = e.arch.CutExperts(whole.layers[k], on.layers[k], k, &s, &e.assembly)
		} else {
			on.layers[k] = whole.layers[k]
		}
	}
}

// build makes the passes of a kind of layer, without and with the recompute
// of the builder's layout.
func (t *layerTable) build(b *builder, layer program.Layer, kind int, base bool) {
	b.layer(layer, kind)
	without, with := t.at(kind, base, false), t.at(kind, base, true)
	*without = b.finish(kind, plan.RecomputeNone)
	*with = *without
	if b.l.Recompute != plan.RecomputeNone {
		*with = b.finish(kind, b.l.Recompute)
	}
}

// start begins a layer in place of the one before it, in the base type where the
// job is low precision and this layer is not.
func (e *Evaluator) start(l *plan.Layout, x *plan.Execution, g *groups, base bool) *builder {
	s := program.ShapeOf(l)
	b := &e.builder
	*b = builder{e: e, l: l, x: x, g: g, dtype: e.quantised, tokens: float64(e.arch.Tokens(&s)), blocks: b.blocks[:0], again: b.again[:0]}
	if base {
		b.dtype = e.base
	}
	b.shard = b.tokens
	if l.SequenceParallel {
		b.shard /= float64(l.TensorParallel)
	}
	return b
}

// layer times everything of one layer but its recompute: its operations, the
// collectives around its blocks, and what the host adds.
func (b *builder) layer(layer program.Layer, kind int) {
	var s stream
	for i := b.resume(kind, &s); i < len(layer); i++ {
		b.blocks = append(b.blocks, blockTimes{})
		for k := range layer[i].Operations {
			b.operation(&layer[i].Operations[k], &b.blocks[i], &s)
		}
		b.halt(kind, i+1, &s)
	}
	b.stream(&s)
	b.bwd[lineMemoryBound] += b.gradientCopies(kind)
	b.tensorParallel()
	if b.experts > 0 {
		b.expertParallel()
	}
	b.host(layer)
	slow := b.slow
	if b.e.free {
		slow -= b.optional
	}
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
		again, collectives := b.fwd, b.first
		if b.e.runtime.Recompute.StopsEarly {
			again.add(-1, &b.last.lines)
			collectives.add(-1, &b.last.collectives)
		}
		p.lines.repeat(&again)
		p.collectives.add(1, &collectives)
		p.backward += again.sum()
	case plan.RecomputeSelective:
		again := b.selective()
		p.lines[lineRecompute] = again
		p.backward += again + b.exchanged(&p)
	}
	if b.x.OffloadActivations {
		b.offload(&p, kind)
	}
	p.elements = b.e.arch.Elements(kind, program.SplitOf(b.l))
	return p
}

// offload sends what can move of what a layer keeps to the host behind its forward and brings
// it back behind its backward, over PCIe; what takes longer than the layer's
// compute is exposed. Copies of single tensors between passes do not reach what a wide
// link could carry.
func (b *builder) offload(p *pass, kind int) {
	bytes := float64(b.e.memory.Offloaded(b.l, b.x, kind))
	t := b.e.overPCIe(bytes)
	if t > 0 {
		t = max(t, units.Seconds(bytes/b.e.parameters.at("offload_bandwidth")))
	}
	f, w := max(0, t-p.forward), max(0, t-p.backward)
	p.lines[lineOffload] = f + w
	p.forward += f
	p.backward += w
}

// hostBandwidth is that of a node's memory.
func (e *Evaluator) hostBandwidth() float64 {
	if stated := float64(e.job.Cluster.HostMemoryBandwidth); stated > 0 {
		return stated
	}
	return e.parameters.at("host_memory_bandwidth")
}

// overPCIe is the time of bytes between a GPU and its host, while all ranks of the
// node move theirs and share its memory's bandwidth. Without a link
// described there is nothing to charge.
func (e *Evaluator) overPCIe(bytes float64) units.Seconds {
	bandwidth := float64(e.job.Cluster.PCIe.Bandwidth)
	if bandwidth == 0 {
		return 0
	}
	return units.Seconds(bytes / min(bandwidth, e.hostBandwidth()/float64(max(e.job.Cluster.GPUsPerNode, 1))))
}

// selective is the forward time of the modules that are recomputed. The "op" policy
// saves attention, communication and every second GEMM and repeats the rest.
func (b *builder) selective() units.Seconds {
	var t units.Seconds
	for rest := b.l.RecomputeModules; rest != 0; rest &^= rest.First() {
		if m := rest.First(); m == plan.ModuleOperators {
			t += (b.fwd[lineLinear]+b.fwd[lineExperts])/2 + b.fwd[lineMemoryBound]
		} else {
			t += b.repeated[moduleIndex(m)]
		}
	}
	return t
}

// exchanged adds the collectives of the modules that are recomputed to a pass, and
// is what of them is exposed.
func (b *builder) exchanged(p *pass) (t units.Seconds) {
	for i := range b.again {
		if a := &b.again[i]; a.modules&b.l.RecomputeModules != 0 {
			p.lines[lineOf(a.at)] += a.exposed
			p.collectives.repeated(a.at, a.calls, a.bytes, a.t, a.exposed)
			t += a.exposed
		}
	}
	return t
}

// moduleIndex numbers single modules.
func moduleIndex(m plan.Modules) int { return bits.TrailingZeros16(uint16(m)) }

// host makes the layer at least as long as the host takes to launch it.
func (b *builder) host(layer program.Layer) {
	t := b.launches(layer)
	b.launch = t
	if b.e.blocking { // the host waits for every kernel before it launches the next
		b.fwd[lineHost] += t
		b.bwd[lineHost] += b.e.hostBackward.Of(t)
		return
	}
	b.fwd[lineHost] += max(0, t-b.fwd.sum(), b.behindCounts())
	b.bwd[lineHost] += max(0, b.e.hostBackward.Of(t)-b.bwd.sum())
}

// behindCounts is by how much the host launches what follows the router later than the
// device runs it: the device is idle when the host has read the counts of tokens.
func (b *builder) behindCounts() units.Seconds {
	if b.experts == 0 || !b.counts() || b.x.Captures(plan.GraphMoE) {
		return 0
	}
	launches := b.e.hostExchange.Of(b.e.hostMoE) + units.Seconds(b.experts)*b.e.hostExpert
	return launches - b.fwd[lineExperts] - b.fwd[lineExpert]
}

// launches is the time in which the host launches what of the layer no CUDA graph
// does: half of a dense layer's for each block, as measured of attention and MLP,
// and what experts add.
func (b *builder) launches(layer program.Layer) (t units.Seconds) {
	for i := range layer {
		if !b.x.Captures(layer[i].GraphModule()) {
			t += b.e.hostLayer / 2
		}
	}
	if b.experts == 0 || b.x.Captures(plan.GraphMoE) {
		return t
	}
	eager := b.e.hostMoE
	if b.x.Captures(plan.GraphMoERouter) {
		eager -= b.e.hostRouter.Of(b.e.hostMoE)
	}
	if b.x.Captures(plan.GraphMoEPreprocess) {
		eager -= b.e.hostPreprocess.Of(b.e.hostMoE)
	}
	return t + eager + units.Seconds(b.experts)*b.e.hostExpert
}

// embedding is the lookup and its gradient on the first stage.
func (e *Evaluator) embedding(l *plan.Layout, x *plan.Execution, g *groups, start *program.Block) pass {
	b := e.start(l, x, g, true)
	for i := range start.Operations {
		n := start.Operations[i].Elements
		b.fwd[lineHead] = b.bytes(compute.Elementwise, n*4)
		b.bwd[lineHead] = b.bytes(compute.Elementwise, n*10)
	}
	b.embeddingReduce()
	return b.edge()
}

// head is the output projection and the loss on the last stage. The final norm is
// not counted.
func (e *Evaluator) head(l *plan.Layout, x *plan.Execution, g *groups, end *program.Block) pass {
	b := e.start(l, x, g, true)
	var product units.Seconds // forward of the projection
	for i := range end.Operations {
		switch o := &end.Operations[i]; o.Kind {
		case program.Linear:
			t := e.linear(e.base, &o.GEMM)
			product = t.Forward.At(e.rate(e.base))
			b.fwd[lineHead] += product
			b.bwd[lineHead] += t.Backward().At(e.rate(e.base))
			b.weight = t.WeightGradient.At(e.rate(e.base))
		case program.CrossEntropy:
			loss := e.device.Traffic(compute.CrossEntropy, units.Bytes(math.Round(o.Elements*e.lossBytes(x))))
			b.fwd[lineHead] += loss / 2
			b.bwd[lineHead] += loss / 2
		}
	}
	b.headReduce(e.target.Vocabulary(e.model, l.TensorParallel), product)
	b.bwd[lineContention] += b.slow
	if e.runtime.Loss.RecomputesChunks && x.LossChunks > 1 {
		b.bwd.repeat(&b.fwd)
		b.collectives.add(1, &b.first)
	}
	return b.edge()
}

// lossBytes is the memory traffic of a loss per logit.
func (e *Evaluator) lossBytes(x *plan.Execution) float64 {
	if x.CrossEntropy == "fused" || x.Compile && e.runtime.Loss.CompilesLoss {
		return e.parameters.at("loss_bytes.fused")
	}
	return e.parameters.at("loss_bytes.unfused")
}

// edge turns what was collected into a pass without recompute, such as an
// embedding or a head.
func (b *builder) edge() pass {
	p := pass{forward: b.fwd.sum(), backward: b.bwd.sum(), weight: b.weight, host: b.launch, lines: b.fwd, collectives: b.collectives}
	p.lines.add(1, &b.bwd)
	return p
}
