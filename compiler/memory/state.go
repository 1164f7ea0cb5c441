package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/runtime"
)

// holding is what one rank of a stage has to keep state for.
type holding struct {
	elements  program.Elements
	matrices  program.Elements // part of elements that low precision copies
	block     int64            // elements of the largest block, experts included
	worst     program.Elements // the same, apart
	blocks    int              // blocks on the stage
	weight    int64            // elements of the largest weight of a block
	head      int64            // elements of the final norm and output head
	embedding int64            // elements of the input embedding
	whole     int64            // elements by which the gradient of the input embedding exceeds its parameter
}

// transient is what an engine keeps at times only, in bytes: the lines of the
// ledger that it can have, and no others, so that the hot path sums few.
type transient struct{ lowPrecision, gradients, gathered, reduce, step int64 }

// sum is the total in bytes.
func (t *transient) sum() int64 { return t.lowPrecision + t.gradients + t.gathered + t.reduce + t.step }

// write adds it to a ledger.
func (t *transient) write(out *ledger) {
	out[lineLowPrecision] += t.lowPrecision
	out[lineGradients] += t.gradients
	out[lineGathered] += t.gathered
	out[lineReduce] += t.reduce
	out[lineStep] += t.step
}

// state holds what an engine keeps, in bytes, apart from activations.
type state struct {
	resident ledger // always
	// begun is what gradients take that a chunk's first backward pass of a step
	// brings into being; engines with persistent gradients leave it empty.
	begun     accumulated
	gathered  int64     // bytes of an element of the parameters that a backward pass leaves gathered
	forward   transient // while a chunk runs forward
	loss      transient // while the loss runs
	head      transient // while the head's gradient is reduced after the last chunk of the loss
	backward  transient // while the first block of a stage runs backward
	next      transient // the same for the second block, while the first is reduced; empty where nothing is
	later     transient // the same for its last block
	embedding transient // while the gradient of the input embedding is made
	step      transient // during the optimizer step, or during a save if that is worse
	saved     int64     // moments in fp32 that a save makes of smaller ones
	host      int64     // bytes per rank in host memory
	written   int64     // parameters of which the rank writes a checkpoint
}

// accumulated is how gradients are kept from the first backward pass of a step
// to its end.
type accumulated struct {
	bytes float64 // per element
	over  shards  // ranks that share them
	whole bool    // not reduced before the last micro-batch
	line  line
}

// of is what the gradients of elements take.
func (g *accumulated) of(e program.Elements) int64 {
	if g.bytes == 0 {
		return 0
	}
	return g.over.of(g.bytes, e)
}

// shards is the number of ranks over which dense and expert state is cut.
type shards struct{ dense, expert int64 }

func shardsOf(l *plan.Layout) shards {
	shard := l.DataParallelShard * l.ContextParallel
	return shards{
		dense:  int64(shard),
		expert: int64(max(1, l.TensorParallel*shard/(l.ExpertParallel*l.ExpertTensorParallel))),
	}
}

// of is bytes per element times the elements over their groups, rounded up.
func (n shards) of(bytes float64, e program.Elements) int64 {
	return int64(bytes*float64(e.Dense)/float64(n.dense)) + int64(bytes*float64(e.Expert)/float64(n.expert))
}

// unsharded keeps everything on every rank.
var unsharded = shards{1, 1}

// cut is over how many ranks a layout cuts what is cut from a zero_stage on.
func (e *evaluation) cut(from int) shards {
	if e.l.ZeroStage >= from {
		return e.shards
	}
	return unsharded
}

// state fills in what the runtime keeps on a rank.
func (m *Model) state(e *evaluation, h *holding, s *state) {
	switch e.sharding.Unit {
	case runtime.StoredBlock:
		m.storedBlocks(e, h, s)
	case runtime.Block:
		m.blocks(e, h, s)
		s.even()
	case runtime.Bucket:
		m.buckets(e, h, s)
		s.even()
		m.largeGradients(e, s)
	default:
		m.buffers(e, h, s)
		s.even()
	}
	m.lowPrecision(e, h, s)
	s.written = s.resident[lineParameters]
	if e.sharding.SavesInParts && e.l.ZeroStage < e.sharding.Parameters {
		copies := shards{dense: int64(e.l.DataParallel() * e.l.ContextParallel), expert: int64(max(1, e.l.ExpertDataParallel()))}
		s.written = copies.of(m.parameterBytes(h, true), h.elements)
	}
}

// even makes what is kept at times the same for all blocks of a stage.
func (s *state) even() {
	s.later, s.head = s.backward, s.loss
	s.embedding.gathered = s.later.gathered
}

// optimizer adds master parameters and moments, cut over n, to device or host.
func (m *Model) optimizer(e *evaluation, h *holding, n shards, s *state) {
	var master float64
	if m.element == 2 {
		master = 4
	}
	moments := n.of(m.momentBytes(e.x, false), h.elements)
	if m.job.Training.Optimizer.Kind == "muon" {
		vectors := program.Elements{Dense: h.elements.Dense - h.matrices.Dense, Expert: h.elements.Expert - h.matrices.Expert}
		moments = n.of(m.momentBytes(e.x, true), h.matrices) + n.of(m.momentBytes(e.x, false), vectors)
	}
	if e.x.OffloadOptimizer {
		s.host += n.of(master+4, h.elements) + moments // and the fp32 gradients that the CPU step reads
		return
	}
	s.resident[lineMaster] += n.of(master, h.elements)
	s.resident[lineMoments] += moments
}

// precisionAware applies what the fused Adam does when its moments are
// kept below fp32: the master parameter is the 16 bits that the bf16
// parameter lacks, and the step may make fp32 copies of both moments, dense and
// expert parameters one after the other. A save makes them of all at once, and
// writes them.
func (m *Model) precisionAware(e *evaluation, h *holding, n shards, s *state) {
	if e.x.MomentBytes() == 4 || e.x.OffloadOptimizer || m.element != 2 {
		return
	}
	switch {
	case m.runtime.LowPrecision.WholeMasters:
		if e.x.GradientBytes() < 4 {
			s.step.step += n.of(4, h.elements)
		}
	case m.job.Training.Precision != "fp16":
		whole := h.elements
		if m.precision.gathers(&m.job.Training) { // 8-bit parameters have no such bits
			whole.Dense -= h.matrices.Dense
			whole.Expert -= h.matrices.Expert
		}
		s.resident[lineMaster] -= n.of(2, whole)
	}
	if e.x.OptimizerStateDType != "bf16" || m.runtime.LowPrecision.CopiesMoments {
		s.step.step += 8 * max(h.elements.Dense/n.dense, h.elements.Expert/n.expert)
	}
	if c := &m.job.Training.Checkpoint; c.Path != "" && c.SaveOptimizer && !m.runtime.LowPrecision.WholeMasters {
		s.saved = n.of(8, h.elements)
		s.step.step = max(s.step.step, s.saved)
	}
}

// momentBytes is the optimizer state per element beside the parameter.
func (m *Model) momentBytes(x *plan.Execution, matrix bool) float64 {
	return float64(float64(m.job.Training.Optimizer.Moments(matrix)) * x.MomentBytes()) // the conversion keeps processors from fusing it with a sum
}

// buffers has parameters and accumulated gradients in buffers of their own and
// the optimizer's state cut over data × context ranks of one optimizer instance.
func (m *Model) buffers(e *evaluation, h *holding, s *state) {
	n := e.cut(e.sharding.Optimizer)
	s.resident[lineParameters] += e.cut(e.sharding.Parameters).of(m.parameterBytes(h, true), h.elements)
	s.resident[lineGradients] += e.cut(e.sharding.Gradients).of(e.x.GradientBytes(), h.elements)
	m.optimizer(e, h, n, s)
	m.precisionAware(e, h, n, s)
	if e.x.GradientBytes() < 4 && e.x.MomentBytes() == 4 {
		s.step.step += n.of(4, h.elements) // fp32 copy of the gradients' shard
	}
}

// parameterBytes is the average size of a stored parameter: the compute type,
// or a low-precision pair for the matrices when parameters are gathered in it.
func (m *Model) parameterBytes(h *holding, native bool) float64 {
	if !native || !m.precision.gathers(&m.job.Training) || h.elements.Sum() == 0 {
		return float64(m.element)
	}
	low := float64(h.matrices.Sum()) / float64(h.elements.Sum())
	return float64(low*m.precision.WeightBytes) + float64((1-low)*float64(m.element))
}

// lowPrecision adds the quantised copies that are cached beside the weights of
// the compute type: row- and column-wise, for every weight of a stage.
func (m *Model) lowPrecision(e *evaluation, h *holding, s *state) {
	if m.precision.WeightBytes == 0 {
		return
	}
	if e.sharding.CachesQuantised {
		if !m.precision.gathers(&m.job.Training) {
			s.resident[lineLowPrecision] += unsharded.of(m.precision.WeightBytes, h.matrices)
		}
		return
	}
	quantised := h.block
	if m.runtime.Experts.Unquantised {
		quantised = h.worst.Dense
	}
	n := int64(m.precision.WeightBytes * float64(quantised))
	s.backward.lowPrecision += n
	s.later.lowPrecision += n
}

// blocks has main parameters in fp32, and parameters of the compute type and
// gradients sharded by zero_stage, gathered and reduced one block at a time with
// the next one ahead.
func (m *Model) blocks(e *evaluation, h *holding, s *state) {
	n, compute, gradient := e.shards, float64(m.element), e.x.GradientBytes()
	parameters, gradients := e.cut(e.sharding.Parameters), e.cut(e.sharding.Gradients)
	with := e.sharding.PerMicroBatch(e.l)
	if with.GatherBackward {
		s.loss.gathered += h.head * m.element
	}
	m.liveBlocks(e, h, s)
	s.loss.reduce += h.head * m.element // a weight's gradient as its GEMM makes it
	s.backward.reduce += h.weight * m.element
	s.resident[lineParameters] += parameters.of(compute, h.elements)
	s.resident[lineGradients] += gradients.of(gradient, h.elements)
	m.optimizer(e, h, n, s)
}

// liveBlocks adds the parameters and the gradients of two blocks, which are whole
// while blocks run backward, or always in buffers that stay. Those are of one size:
// blocks of another kind do without, beside them. Parameters that are gathered in 8
// bits have buffers for their transposed copies, too.
func (m *Model) liveBlocks(e *evaluation, h *holding, s *state) {
	var gathered, reduced int64
	with := e.sharding.PerMicroBatch(e.l)
	if with.GatherBackward {
		gathered = 2 * h.block * m.element
	}
	if with.Reduce {
		reduced = 2 * h.block * int64(e.x.GradientBytes())
	}
	stay := e.x.KeepsShardBuffers()
	if stay {
		s.resident[lineGathered] += gathered
		s.resident[lineReduce] += reduced
		if m.job.Training.FP8.ParameterGather {
			s.resident[lineGathered] += 2 * h.block
		}
	}
	if !stay || len(m.arch.Kinds()) > 1 {
		s.backward.gathered += gathered
		s.backward.reduce += reduced
	}
}

// storedBlocks has fp32 parameters, gradients and moments sharded over data-shard
// × context ranks, each block gathered in the compute type with the next one
// prefetched, gradients reduced in fp32. Where a pipeline reduces nothing before
// its last micro-batch, gradients stay whole in fp32 until then.
func (m *Model) storedBlocks(e *evaluation, h *holding, s *state) {
	n, with := e.cut(e.sharding.Parameters), e.sharding.PerMicroBatch(e.l)
	offload := e.x.OffloadParameters || e.x.OffloadOptimizer
	sharded := n.of(4, h.elements)
	if offload {
		s.host += 2*sharded + n.of(m.momentBytes(e.x, false), h.elements)
	} else {
		s.resident[lineParameters] += sharded
		s.step.gradients += sharded
		s.resident[lineMoments] += n.of(m.momentBytes(e.x, false), h.elements)
	}
	switch {
	case !with.Reduce:
		s.begun = accumulated{bytes: 4, over: unsharded, whole: true, line: lineReduce}
	case !offload:
		s.begun = accumulated{bytes: 4, over: n, line: lineGradients}
	}
	if with.Reduce {
		s.later.reduce += 4 * h.block
	}
	m.gather(e, h, s)
	if with.Reduce {
		m.reducing(e, h, s)
	}
	s.head = s.loss
	if e.x.LossChunks > 1 {
		m.headGradients(e, h, s)
	}
}

// reducing adds what is reduced while the first two blocks run
// backward: norm and head, unless the chunks of a loss have seen to it, then the
// first block. Both leave their shards.
func (m *Model) reducing(e *evaluation, h *holding, s *state) {
	s.next = s.backward
	s.next.reduce += 4 * h.block
	if e.x.LossChunks == 1 {
		s.backward.reduce += 4 * h.head
	}
	if e.l.MicroBatches == 1 { // otherwise earlier ones have left the shards of all
		n := e.shards
		s.backward.gradients += n.of(4, program.Elements{Dense: h.head})
		s.next.gradients += n.of(4, h.worst.Add(program.Elements{Dense: h.head}))
	}
}

// headGradients adds the gradient of the output head under a chunked loss. It
// is collected whole in fp32 over the chunks and reduced after the last, from a
// copy. In a pipeline this happens for every micro-batch, beside the whole
// gradients of the stage: the copy stays until the next reduction, and so do two
// shards, because the norm, which is reduced with the head from the second
// micro-batch on, has its gradient in the second; each chunk's gradient takes
// more than another shard. Under GPipe all losses come before any backward pass.
func (m *Model) headGradients(e *evaluation, h *holding, s *state) {
	whole, shard := 4*h.head, 4*h.head/e.shards.dense
	if e.l.PipelineParallel == 1 {
		s.loss.reduce += whole
		s.head.reduce += 2 * whole
		s.head.gradients += shard
		return
	}
	if e.l.PipelineSchedule == plan.ScheduleGPipe {
		s.loss.reduce += whole
		s.head.reduce += whole
	} else {
		shard *= 2
	}
	s.loss.reduce += whole
	s.head.reduce += whole + m.element*h.head
	for _, t := range [...]*transient{&s.loss, &s.head, &s.backward, &s.later} {
		t.gradients += shard
	}
}

// gather adds the parameters that are held gathered. Without
// resharding after the forward pass every block stays; the norm and head unit
// is never resharded between forward and backward. The stages of a pipeline
// keep what a backward pass has gathered until the next forward pass.
func (m *Model) gather(e *evaluation, h *holding, s *state) {
	switch {
	case !e.x.ReshardAfterForward:
		s.resident[lineGathered] += h.elements.Sum() * m.element
		return
	case e.l.PipelineParallel > 1:
		s.gathered = m.element
		s.forward.gathered += m.twoBlocks(e, h)
		if e.x.LossChunks > 1 { // the head is part of the loss
			s.loss.gathered += h.head * m.element
		}
	default:
		s.loss.gathered += h.head * m.element
		s.later.gathered += max(m.twoBlocks(e, h), (h.block+h.embedding)*m.element)
	}
	s.backward.gathered += m.twoBlocks(e, h)
}

// twoBlocks is what the running block and the one that is gathered ahead take.
// Experts that no other rank shards are copied when their block runs, not ahead.
func (m *Model) twoBlocks(e *evaluation, h *holding) int64 {
	if e.shards.expert == 1 {
		return (h.block + h.worst.Dense) * m.element
	}
	return 2 * h.block * m.element
}
