package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/collective"
	"github.com/ndc-dev/ndc/compiler/compute"
	"github.com/ndc-dev/ndc/compiler/layout"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/units"
)

// tensorParallel adds the collectives of one layer over the tensor group:
// around every block whose weights are cut over it, a gather before and a
// reduce-scatter after with sequence parallelism, one all-reduce without
// (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.2). Routed experts are
// cut over the expert-tensor group instead.
func (b *builder) tensorParallel() {
	if b.g.tensor.Size() <= 1 {
		return
	}
	for i := range b.blocks {
		if b.blocks[i].gathers {
			b.tensorBlock(&b.blocks[i])
		}
	}
	if !b.reduces {
		return
	}
	slow, optional := b.slow, b.optional
	at, bytes, t, hidden := b.leave(b.blocks[len(b.blocks)-1].row)
	b.slow, b.optional = slow, optional // counted with its block
	b.last.lines[lineOf(at)] += t - hidden
	b.last.collectives.put(at, bytes, t, t-hidden)
}

// leave is the collective after the product before it, of which hidden runs
// behind that product.
func (b *builder) leave(row units.Seconds) (at collectiveKind, bytes units.Bytes, t, hidden units.Seconds) {
	bytes = units.Bytes(b.tokens * 2 * float64(b.e.model.HiddenSize))
	if !b.l.SequenceParallel {
		return collectiveTensorReduce, bytes, b.g.tensor.AllReduce(bytes), 0
	}
	t = b.g.tensor.ReduceScatter(bytes)
	return collectiveTensorScatter, bytes, t, b.pipelined(t, row)
}

// tensorBlock is one gather and reduce-scatter (or one all-reduce) of the forward
// around a block, with its mirror image in the backward.
func (b *builder) tensorBlock(block *blockTimes) {
	g, column, row := b.g.tensor, block.column, block.row
	at, bytes, scatter, behind := b.leave(row)
	width := block.width
	if block.whole {
		width = b.e.model.HiddenSize
	}
	entering := units.Bytes(b.tokens * 2 * float64(width))
	if !b.l.SequenceParallel {
		b.putRepeated(block.out, at, 1, bytes, scatter, behind)
		n, reduce := 1, g.AllReduce(entering)
		if b.e.runtime.TensorParallel.ReducesEachColumn {
			n = block.columns
		}
		for range n {
			hidden := units.Seconds(0)
			if b.e.runtime.TensorParallel.Overlaps { // behind the weight gradient
				hidden = b.behind(reduce, column)
			}
			b.putBackward(at, entering, reduce, hidden)
		}
		return
	}
	gathered := entering
	if b.gathersQuantised() {
		gathered /= 2
	}
	if b.e.runtime.TensorParallel.CopiesSequences {
		copies := b.bytes(compute.Elementwise, 2*float64(gathered+bytes))
		b.spend(copies, copies)
	}
	gather := g.AllGather(gathered)
	b.putRepeated(block.in, collectiveTensorGather, 1, gathered, gather, b.pipelined(gather, column))
	b.putRepeated(block.out, at, 1, bytes, scatter, behind)
	left := bytes
	if b.gathersQuantised() {
		left /= 2
	}
	returned := g.AllGather(left)
	b.putBackward(collectiveTensorGather, left, returned, b.pipelined(returned, row))
	scatter = g.ReduceScatter(entering)
	if !b.e.runtime.TensorParallel.Overlaps {
		b.putBackward(collectiveTensorScatter, entering, scatter, b.pipelined(scatter, column))
		return
	}
	// The input is gathered again behind the input gradient, the gradient scattered
	// behind the weight gradient.
	b.putBackward(collectiveTensorGather, entering, gather, b.behind(gather, column))
	b.putBackward(collectiveTensorScatter, entering, scatter, b.behind(scatter, column))
}

// joinHeads gathers what every rank projected, where ranks share key-value heads,
// and copies it from the order of ranks into that of heads; the backward pass
// copies the gradient and scatters its sum (docs/time.md, Communication inside a layer).
func (b *builder) joinHeads(o *program.Operation) {
	g := b.g.tensor
	bytes := units.Bytes(2 * float64(o.GEMM.M) * float64(o.GEMM.N*g.Size()))
	copies := b.bytes(compute.Elementwise, 2*float64(bytes))
	b.spend(copies, copies)
	b.putRepeated(o.Modules, collectiveTensorGather, 1, bytes, g.AllGather(bytes), 0)
	b.putBackward(collectiveTensorScatter, bytes, g.ReduceScatter(bytes), 0)
}

// joinWidth is the communication of a projection over the tensor group whose output
// every rank goes on with: its input is gathered as that of a block, its output in the
// forward pass and, where ranks keep their own tokens of it, its gradient in the
// backward pass (docs/time.md, Communication inside a layer).
func (b *builder) joinWidth(o *program.Operation, t *compute.Passes) {
	g := b.g.tensor
	if g.Size() <= 1 {
		return
	}
	of := func(width int) units.Bytes { return units.Bytes(b.tokens * 2 * float64(width)) }
	in, out := of(o.Gathered), of(o.GEMM.N*g.Size())
	behind := func(t, compute units.Seconds) units.Seconds {
		if !b.e.runtime.TensorParallel.Overlaps {
			return 0
		}
		return b.behind(t, compute)
	}
	b.put(collectiveTensorGather, out, g.AllGather(out))
	if !b.l.SequenceParallel {
		reduce := g.AllReduce(in)
		b.putBackward(collectiveTensorReduce, in, reduce, behind(reduce, t.WeightGradient))
		return
	}
	gather, scatter := g.AllGather(in), g.ReduceScatter(in)
	b.put(collectiveTensorGather, in, gather)
	b.putBackward(collectiveTensorGather, out, g.AllGather(out), 0)
	if b.e.runtime.TensorParallel.Overlaps {
		b.putBackward(collectiveTensorGather, in, gather, behind(gather, t.InputGradient))
	}
	b.putBackward(collectiveTensorScatter, in, scatter, behind(scatter, t.WeightGradient))
}

// pipelined is the part of a collective that hides inside the GEMM it is cut
// up with: all chunks but one of the tensor group's size, as far as the GEMM lasts.
func (b *builder) pipelined(t, gemm units.Seconds) units.Seconds {
	if !b.x.OverlapTensorParallel {
		return 0
	}
	n := units.Seconds(b.l.TensorParallel)
	return b.optionally(t*(n-1)/n, gemm, b.e.contention)
}

// behind is how much of a collective runs behind compute, which it slows.
func (b *builder) behind(t, compute units.Seconds) units.Seconds {
	b.slow += slowed(t, compute, b.e.contention)
	return min(t, compute)
}

// optionally is behind, where an option of execution has it so.
func (b *builder) optionally(t, compute units.Seconds, lost units.Ratio) units.Seconds {
	slow := slowed(t, compute, lost)
	b.slow += slow
	b.optional += slow
	return min(t, compute)
}

// slowed is how much longer compute takes beside a collective of t: lost
// seconds for each second that both run. Where the collective lasts longer all
// the same, that is not on the critical path: both together take
// max(t, compute + lost·t).
func slowed(t, compute units.Seconds, lost units.Ratio) units.Seconds {
	return max(0, min(lost.Of(t), compute-(1-lost).Of(t)))
}

// put adds a collective of the forward that nothing hides.
func (b *builder) put(c collectiveKind, bytes units.Bytes, t units.Seconds) {
	b.putRepeated(0, c, 1, bytes, t, 0)
}

// putRepeated adds some calls of the forward, of whose time hidden runs behind
// compute, and which selective recompute of modules runs again.
func (b *builder) putRepeated(m plan.Modules, c collectiveKind, calls int, bytes units.Bytes, t, hidden units.Seconds) {
	b.fwd[lineOf(c)] += t - hidden
	b.collectives.repeated(c, calls, bytes, t, t-hidden)
	b.first.repeated(c, calls, bytes, t, t-hidden)
	if m != 0 {
		b.again = append(b.again, exchange{modules: m, at: c, calls: calls, bytes: bytes, t: t, exposed: t - hidden})
	}
}

// putBackward adds a collective of the backward, of which hidden runs behind compute.
func (b *builder) putBackward(c collectiveKind, bytes units.Bytes, t, hidden units.Seconds) {
	b.bwd[lineOf(c)] += t - hidden
	b.collectives.put(c, bytes, t, t-hidden)
}

// lineOf is the breakdown line of a kind of collective inside a layer.
func lineOf(c collectiveKind) line {
	switch {
	case c <= collectiveTensorReduce:
		return lineTensor
	case c <= collectiveContextExchange:
		return lineContext
	default:
		return lineExpert
	}
}

// contextParallel adds the exchange of keys and values. Ring attention sends
// its block to the neighbour while it works on the last one; all_gather
// collects keys and values before and scatters their gradients after; ulysses
// exchanges heads for tokens around the core, twice each way (Liu et al. 2023,
// arXiv:2310.01889; Jacobs et al. 2023, arXiv:2309.14509). Hierarchical does that
// inside a node, and is a ring across.
func (b *builder) contextParallel(c *program.CoreAttention, m plan.Modules, forward, backward units.Seconds) {
	tokens := float64(c.Batch * c.Queries)
	kv := units.Bytes(tokens * 2 * float64(c.KVHeads*(c.QKDim+c.VDim)))
	if b.g.heads.Size() > 1 {
		qo := units.Bytes(tokens * 2 * float64(c.Heads*(c.QKDim+c.VDim)))
		t := b.g.heads.AllToAll(kv + qo)
		b.putRepeated(m, collectiveContextExchange, 1, kv+qo, t, 0)
		b.putBackward(collectiveContextExchange, kv+qo, t, 0)
	}
	g := b.g.ring
	n := g.Size()
	switch {
	case n <= 1:
	case b.x.ContextParallelType == "all_gather":
		all := kv * units.Bytes(n)
		b.putRepeated(m, collectiveContextGather, 1, all, g.AllGather(all), 0)
		b.putBackward(collectiveContextGather, all, g.ReduceScatter(all), 0)
	default:
		steps := units.Seconds(n - 1)
		t := g.PointToPoint(kv)
		b.putRepeated(m, collectiveContextRing, n-1, kv*units.Bytes(n-1), steps*t, b.behind(steps*t, steps*forward/units.Seconds(n)))
		t = g.PointToPoint(2 * kv)
		b.putBackward(collectiveContextRing, 2*kv*units.Bytes(n-1), steps*t, b.behind(steps*t, steps*backward/units.Seconds(n)))
		b.collectives[collectiveContextRing].calls += n - 2
	}
}

// wholeInput reports whether a mixture reads all tokens of the tensor group.
func (b *builder) wholeInput() bool {
	switch b.e.runtime.Experts.Input {
	case runtime.WholeWhereSplit:
		return b.l.ExpertTensorParallel > 1
	case runtime.WholeInput:
		return b.l.TensorParallel > 1
	}
	return false
}

// expertParallel adds dispatch and combine of a mixture-of-experts layer.
func (b *builder) expertParallel() {
	g := b.g.expert
	m := b.e.model
	row := 2 * float64(b.e.arch.ExpertWidth())
	local := b.shard
	switch split := b.g.expertTensor.Size() > 1; {
	case split && b.wholeInput(): // every rank sends all tokens to its part of the experts
		local = b.tokens
	case split:
		bytes := units.Bytes(float64(b.e.routed(b.l)) * row)
		t := b.g.expertTensor.AllGather(bytes)
		s := b.g.expertTensor.ReduceScatter(bytes)
		b.putRepeated(plan.ModuleMoE, collectiveExpertTensorGather, 1, bytes, t, 0)
		b.putRepeated(plan.ModuleMoE, collectiveExpertTensorScatter, 1, bytes, s, 0)
		b.putBackward(collectiveExpertTensorGather, bytes, t, 0)
		b.putBackward(collectiveExpertTensorScatter, bytes, s, 0)
	}
	if g.Size() <= 1 {
		return
	}
	var bytes units.Bytes
	var once units.Seconds
	at := collectiveExpertExchange
	switch b.x.MoEDispatcher {
	case "allgather":
		at = collectiveExpertGather
		bytes = units.Bytes(math.Round(local * row * float64(g.Size())))
		once = (g.AllGather(bytes) + g.ReduceScatter(bytes)) / 2
	default:
		copies, busiest := b.copies(), m.MoE.LoadImbalance
		if m.MoE.TokenDrop && m.MoE.CapacityFactor > 0 && !plan.SendsTokens(b.x.MoEDispatcher) { // to each expert its capacity, padded
			copies, busiest = m.MoE.CapacityFactor, 1
		}
		bytes = units.Bytes(math.Round(local * float64(m.MoE.TopK) * row * copies))
		once = max(g.AllToAll(bytes), b.e.moved(g, b.x.MoEDispatcher, bytes)) * units.Seconds(max(1, busiest))
	}
	sync := b.sync()
	for range 2 { // dispatch and combine
		behind, behindB := b.hiding(once)
		b.putRepeated(plan.ModuleMoE, at, 1, bytes, once+sync/2, behind)
		b.putBackward(at, bytes, once, behindB)
	}
}

// routed is the number of rows that the experts of a rank multiply.
func (e *Evaluator) routed(l *plan.Layout) int {
	s := program.ShapeOf(l)
	return e.arch.RoutedTokens(&s)
}

// hiding is how much of one exchange runs behind the compute of another
// micro-batch when the framework interleaves the two. A step of one micro-batch has
// no other; of more all counts, though without a pipeline the first forward and the
// last backward have none beside them: steps gained what that says and more.
func (b *builder) hiding(once units.Seconds) (forward, backward units.Seconds) {
	if !b.x.OverlapExpertParallel || b.l.MicroBatches == 1 {
		return 0, 0
	}
	f := b.fwd[lineLinear] + b.fwd[lineExperts] + b.fwd[lineAttention] + b.fwd[lineMemoryBound]
	w := b.bwd[lineLinear] + b.bwd[lineExperts] + b.bwd[lineAttention] + b.bwd[lineMemoryBound]
	lost := b.e.exchangeContention(b.x.MoEDispatcher)
	return b.optionally(once, w/2, lost), b.optionally(once, f/2, lost)
}

// moved is the least time that a dispatcher takes for bytes inside an NVLink domain,
// where the multiprocessors that it keeps for itself may be slower than the links:
// zero for those that are not.
func (e *Evaluator) moved(g *collective.Group, dispatcher string, bytes units.Bytes) units.Seconds {
	each, slower := e.parameters["exchange_rate."+dispatcher]
	if !slower || g.Link() != collective.LinkNVLink {
		return 0
	}
	return units.Seconds(float64(bytes) / (e.parameters.at("exchange_sms."+dispatcher) * each * 1e9))
}

// exchangeContention is what an exchange of experts takes from compute that runs
// beside it: the multiprocessors that the dispatcher keeps for itself, or what
// any collective takes.
func (e *Evaluator) exchangeContention(dispatcher string) units.Ratio {
	if sms := e.job.Cluster.GPU.SMs; sms > 0 && plan.SendsTokens(dispatcher) {
		return min(units.Ratio(e.parameters.at("exchange_sms."+dispatcher)/float64(sms)), e.contention)
	}
	return e.contention
}

// copies is the share of a token's top-k copies that travel. DeepEP and
// HybridEP send a token once to every rank that wants it, over the network once
// to every NVLink domain, which spreads it: of d destinations, d·(1−(1−1/d)^k)
// are touched on average. The plain exchange sends every copy.
func (b *builder) copies() float64 {
	if !plan.SendsTokens(b.x.MoEDispatcher) {
		return 1
	}
	k, d := float64(b.e.model.MoE.TopK), float64(b.g.expert.Size())
	if b.g.expert.Link() == collective.LinkNetwork {
		d = math.Ceil(float64(b.l.ExpertParallel*layout.Stride(b.e.target.ExpertMesh, b.l, plan.ExpertParallel)) / float64(max(b.e.domain, 1)))
	}
	if d <= 1 {
		return 1
	}
	return min(1, d*(1-math.Pow(1-1/d, k))/k)
}

// sync is the wait for token counts on the host.
func (b *builder) sync() units.Seconds {
	if !b.counts() {
		return 0
	}
	return b.e.moeSync
}

// counts reports whether the host reads how many tokens each expert has before it
// launches what they run: not where rows are padded to a capacity, nor in a graph
// of the whole step, nor where one launch runs all experts and no rank sends to another.
func (b *builder) counts() bool {
	if b.e.runtime.Experts.LaunchedTogether && b.l.ExpertParallel == 1 {
		return false
	}
	return !b.e.model.MoE.TokenDrop && b.x.MoEDispatcher != "allgather" && b.x.CUDAGraphs != "full"
}

// embeddingReduce sums the lookups of a vocabulary cut over the tensor group.
func (b *builder) embeddingReduce() {
	g := b.g.tensor
	bytes := units.Bytes(b.tokens * 2 * float64(b.e.model.HiddenSize))
	if b.e.runtime.TensorParallel.EmbeddingParts(g.Size()) <= 1 {
		return
	}
	if b.l.SequenceParallel {
		b.put(collectiveTensorScatter, bytes, g.ReduceScatter(bytes))
		b.putBackward(collectiveTensorGather, bytes, g.AllGather(bytes), 0)
		return
	}
	b.put(collectiveTensorReduce, bytes, g.AllReduce(bytes))
}

// headReduce gathers the hidden states before the head's product, whose forward takes
// that long, and reduces their gradient as a block does ([builder.tensorBlock]). Three
// values per token of a vocabulary-parallel cross entropy are reduced, or the logits
// gathered for one over the whole vocabulary.
func (b *builder) headReduce(vocabulary int, product units.Seconds) {
	g := b.g.tensor
	if b.e.runtime.TensorParallel.HeadParts(g.Size()) <= 1 {
		return
	}
	bytes := units.Bytes(b.tokens * 2 * float64(b.e.model.HiddenSize))
	if b.l.SequenceParallel {
		gather, scatter, hidden := g.AllGather(bytes), g.ReduceScatter(bytes), units.Seconds(0)
		b.put(collectiveTensorGather, bytes, gather)
		if b.e.runtime.TensorParallel.Overlaps {
			b.putBackward(collectiveTensorGather, bytes, gather, b.behind(gather, product))
			hidden = b.behind(scatter, product)
		}
		b.putBackward(collectiveTensorScatter, bytes, scatter, hidden)
	} else {
		reduce, hidden := g.AllReduce(bytes), units.Seconds(0)
		if b.e.runtime.TensorParallel.Overlaps {
			hidden = b.behind(reduce, product)
		}
		b.putBackward(collectiveTensorReduce, bytes, reduce, hidden)
	}
	if b.e.runtime.TensorParallel.LogitParts(g.Size()) <= 1 {
		logits := units.Bytes(b.tokens * 2 * float64(vocabulary))
		b.put(collectiveTensorGather, logits, g.AllGather(logits))
		return
	}
	row := units.Bytes(b.tokens * 4)
	b.putRepeated(0, collectiveTensorReduce, 3, 3*row, 3*g.AllReduce(row), 0)
}
