package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/transformer"
)

// stageMemory is one pipeline rank at its peak.
type stageMemory struct {
	detail bool   // fill the ledger
	sum    int64  // allocated bytes
	state  int64  // of these what neither micro-batch nor recompute changes
	ledger ledger // sums to sum
	host   hostMemory
	loss   int64 // transients of the loss, where the stage has it
}

// load is what the chunks of a rank add up to.
type load struct {
	holding
	detail      bool   // fill activations
	activations ledger // of all micro-batches in flight
	kept        int64  // the sum of activations
	first       int64  // kept by one micro-batch on the first local chunk
	moved       int64  // offloaded to the host
	transfer    int64  // offloaded tensors of one layer, the largest
	layer       int64  // kept by the last layer to run backward
	recomputed  int64  // worst running layer
	backward    int64
	gradients   int64 // scratch weight gradients
	headAlive   int64 // micro-batches that wait at the head
	embedding   int64 // elements of the input embedding's gradient
	receive     int64 // what is received into, beside the inputs of what is in flight
	inFlight    int   // chunk-forwards alive at once
	plain       bool  // block recompute leaves layers at the end of a chunk that run backward first
	again       bool  // gradients of earlier micro-batches exist when most are in flight
}

// keep adds n times a layer's kept tensors.
func (ld *load) keep(y *ledger, sum, n int64) {
	ld.kept += n * sum
	if ld.detail && n != 0 {
		ld.activations.add(y, n)
	}
}

// keepStream adds copies of the residual stream.
func (ld *load) keepStream(bytes int64) {
	ld.kept += bytes
	ld.activations[lineNorms] += bytes
}

// moment is a point of a step at which a rank may peak.
type moment uint8

const (
	atStep      moment = iota // the optimizer step
	atLoss                    // the loss runs backward
	atHead                    // the head's gradient is reduced after the last chunk of the loss
	atNextLoss                // the loss of the second micro-batch, when the first has left its gradients
	atBackward                // the first layer runs backward, everything in flight is alive
	atNext                    // the second layer runs backward while the first is reduced
	atSecond                  // the first layer of the next micro-batch, when another has left its gradients and no forward pass came between
	atEnd                     // the last layer of the first micro-batch runs backward
	atEmbedding               // the gradient of the input embedding is made
	numMoments
)

// stage finds the peak of a pipeline rank among the moments of a step; with
// detail it also fills the ledger.
func (m *Model) stage(e *evaluation, rank int, out *stageMemory) {
	ld := load{detail: out.detail}
	m.load(e, rank, &ld)
	var st state
	m.state(e, &ld.holding, &st)
	out.state = st.resident.sum() + st.reduced.sum() + st.step.sum()
	st.resident[lineWorkspaces] += e.terms.workspaces + int64(ld.blocks)*e.terms.rotary
	st.resident[lineWeightGradients] += ld.gradients
	st.resident[lineReceive] += ld.receive

	resident, gradients := st.resident.sum(), st.gradients.sum()
	running := resident
	if ld.again {
		running += gradients
	}
	later := st.later.sum()
	var at [numMoments]int64
	at[atStep] = resident + st.reduced.sum() + st.step.sum()
	at[atBackward] = running + st.backward.sum() + ld.kept + ld.recomputed + ld.backward + m.others(e, ld.headAlive-1)
	if ld.blocks > 1 && st.next.sum() > 0 {
		at[atNext] = running + st.next.sum() + ld.kept - ld.layer + ld.recomputed + ld.backward
	}
	at[atEnd] = resident + gradients + later + ld.ending() + ld.recomputed + ld.backward + m.others(e, ld.headAlive-1) - m.pending(e, &ld)
	if ld.inFlight > 1 {
		at[atSecond] = resident + gradients + later + ld.remaining() + ld.recomputed + ld.backward + m.others(e, ld.headAlive-2)
	}
	if ld.headAlive > 0 {
		out.loss = e.terms.head.loss
		at[atLoss] = running + st.loss.sum() + ld.kept + m.waiting(e, ld.headAlive) + e.terms.head.loss
		at[atHead] = running + st.head.sum() + ld.kept + m.waiting(e, ld.headAlive) + e.terms.head.reduced
	}
	if !ld.again && ld.headAlive > 1 && e.terms.head.reduced == 0 {
		at[atNextLoss] = resident + gradients + later + ld.remaining() + m.waiting(e, ld.headAlive-1) + e.terms.head.loss
	}
	if rank == 0 {
		at[atEmbedding] = resident + gradients + st.embedding.sum() + ld.kept - ld.first + m.embeddingGradient(e, &ld) + m.embedded(e)
	}
	when := atStep
	for i := range at {
		if at[i] > at[when] {
			when = moment(i)
		}
	}
	out.sum = at[when]
	out.host = hostMemory{state: st.host, activations: ld.moved, checkpoint: m.staging(e, &st)}
	if out.detail {
		m.compose(e, when, &ld, &st, &out.ledger)
	}
}

// compose writes the ledger of a moment; its sum is the moment's.
func (m *Model) compose(e *evaluation, when moment, ld *load, st *state, out *ledger) {
	*out = st.resident
	if when == atStep {
		out.add(&st.reduced, 1)
		out.add(&st.step, 1)
		return
	}
	if when >= atSecond || when == atNextLoss || ld.again {
		out.add(&st.gradients, 1)
	}
	switch when {
	case atLoss:
		out.add(&st.loss, 1)
	case atHead:
		out.add(&st.head, 1)
	case atBackward:
		out.add(&st.backward, 1)
	case atNext:
		out.add(&st.next, 1)
	case atNextLoss, atSecond, atEnd:
		out.add(&st.later, 1)
	case atEmbedding:
		out.add(&st.embedding, 1)
	}
	switch when {
	case atLoss:
		out.add(&ld.activations, 1)
		out[lineHead] += m.waiting(e, ld.headAlive) + e.terms.head.loss
	case atHead:
		out.add(&ld.activations, 1)
		out[lineHead] += m.waiting(e, ld.headAlive) + e.terms.head.reduced
	case atNextLoss:
		ld.scale(ld.remaining())
		out.add(&ld.activations, 1)
		out[lineHead] += m.waiting(e, ld.headAlive-1) + e.terms.head.loss
	case atBackward, atNext, atSecond, atEnd:
		waiting := ld.headAlive - 1
		switch when {
		case atNext:
			ld.scale(ld.kept - ld.layer)
			waiting = 0
		case atSecond:
			ld.scale(ld.remaining())
			waiting--
		case atEnd:
			ld.scale(ld.ending())
			m.lack(e, m.pending(e, ld), out)
		}
		out.add(&ld.activations, 1)
		out[lineRecomputed] += ld.recomputed
		out[lineBackward] += ld.backward
		out[lineHead] += m.others(e, waiting)
	case atEmbedding:
		ld.scale(ld.kept - ld.first)
		out.add(&ld.activations, 1)
		out[lineReduce] += m.embeddingGradient(e, ld)
		out[lineBackward] += m.embedded(e)
	}
}

// embedded is the gradient of what comes out of the input embedding, gathered
// over the tensor group; it is gone when fully_shard reduces the embedding's.
func (m *Model) embedded(e *evaluation) int64 {
	if m.style.reduceFP32 && e.l.PipelineParallel == 1 {
		return 0
	}
	if e.l.SequenceParallel {
		return e.terms.layers[0].input * int64(e.l.TensorParallel)
	}
	return e.terms.layers[0].input
}

// embeddingGradient is the whole gradient of the input embedding before it is
// accumulated or, under fully_shard without a pipeline, copied to fp32 and
// scattered.
func (m *Model) embeddingGradient(e *evaluation, ld *load) int64 {
	n := m.element * (e.terms.embedding + ld.whole)
	if m.style.reduceFP32 && e.l.PipelineParallel == 1 {
		n += 4 * e.terms.embedding
	}
	return n
}

// waiting is what n micro-batches that wait at the head keep there.
func (m *Model) waiting(e *evaluation, n int64) int64 {
	each := e.terms.head.kept
	if m.style.keepOutputs && e.l.PipelineParallel > 1 {
		each += e.terms.head.output
	}
	return n*each + (n-1)*e.terms.head.saved
}

// others is what n micro-batches keep at the head whose losses are done while
// the layers of another run backward.
func (m *Model) others(e *evaluation, n int64) int64 {
	if n <= 0 {
		return 0
	}
	return m.waiting(e, n) + e.terms.head.saved
}

// pending is what the gradients of fully_shard still lack when the last layer
// of the first micro-batch runs backward: the layer's and the input embedding's,
// whole ones in a pipeline.
func (m *Model) pending(e *evaluation, ld *load) int64 {
	if ld.again || !m.style.reduceFP32 || e.x.OffloadParameters || e.x.OffloadOptimizer {
		return 0
	}
	n := unsharded
	if e.l.PipelineParallel == 1 {
		n = e.shards
	}
	return n.of(4, ld.worst.Add(transformer.Elements{Dense: ld.embedding}))
}

// lack takes pending bytes off the line that holds gradients.
func (m *Model) lack(e *evaluation, pending int64, out *ledger) {
	if e.l.PipelineParallel == 1 {
		out[lineGradients] -= pending
	} else {
		out[lineReduce] -= pending
	}
}

// remaining is what is kept once the first micro-batch is done.
func (ld *load) remaining() int64 { return ld.kept / int64(ld.inFlight) * int64(ld.inFlight-1) }

// ending is what is kept while the last layer of the first micro-batch runs
// backward.
func (ld *load) ending() int64 { return max(ld.kept-ld.first, 0) + ld.layer }

// scale shrinks the activations to a sum, every line in proportion.
func (ld *load) scale(sum int64) {
	if ld.kept == 0 {
		return
	}
	rest, largest := sum, 0
	for i, b := range ld.activations {
		ld.activations[i] = int64(float64(b) * (float64(sum) / float64(ld.kept)))
		rest -= ld.activations[i]
		if ld.activations[i] > ld.activations[largest] {
			largest = i
		}
	}
	ld.activations[largest] += rest
}

// load adds up the chunks of a rank.
func (m *Model) load(e *evaluation, rank int, ld *load) {
	l, t := e.l, e.terms
	last := l.PipelineParallel - 1
	var present [maxKinds]bool
	pipeline := schedule.Shape{Schedule: l.PipelineSchedule, Pipeline: l.PipelineParallel, Virtual: l.VirtualPipeline, MicroBatches: l.MicroBatches}.Prepare()
	ld.inFlight = pipeline.InFlight(rank)
	forwards := pipeline.Split(ld.inFlight)
	for i := range l.VirtualPipeline {
		c := i*l.PipelineParallel + rank
		alive := int64(forwards.On(i))
		ld.earlier = ld.elements.Sum()
		for k := range t.kinds {
			n := m.arch.Count(k, m.starts[c], m.starts[c+1])
			if c == l.Chunks()-1 && k == m.arch.MTPKind() {
				n += m.arch.Model.MTPLayers
			}
			if n == 0 {
				continue
			}
			present[k] = true
			m.addLayers(e, ld, &t.layers[k], n, alive, i == 0)
		}
		if i == 0 {
			ld.begin = ld.elements.Sum()
		}
		if c == 0 && m.arch.Model.Dropout > 0 { // the mask on the embedding's output, one byte per element
			ld.keepStream(alive * t.layers[0].input / m.element)
		}
		if m.style.keepOutputs && c < l.Chunks()-1 && l.PipelineParallel > 1 {
			ld.keepStream(alive * t.layers[0].input)
		}
		if m.style.receivesAll {
			ld.receive += received(l, c, alive) * t.layers[0].input
		}
		if rank == last && i == l.VirtualPipeline-1 {
			ld.headAlive = max(alive, 1)
		}
	}
	if rank > 0 && (!m.style.receivesAll || l.PipelineSchedule == plan.Schedule1F1B) { // the gradient sent to the stage before lives until the next one replaces it
		ld.keepStream(t.layers[0].input)
	}
	ld.again = l.MicroBatches*l.VirtualPipeline > ld.inFlight
	// One layer's offloaded tensors are on their way out or back while the next runs.
	ld.kept += 2 * ld.transfer
	ld.activations[lineTransfer] += 2 * ld.transfer
	m.ends(e, rank, ld)
	var attention int64
	for k := range t.kinds {
		if present[k] {
			m.running(e, ld, &t.layers[k])
			ld.gradients += t.layers[k].gradients
			attention = max(attention, t.layers[k].attention)
		}
	}
	ld.gradients += attention
}

// received is the number of residual streams that a chunk of a pipeline has
// buffers for beside those that the micro-batches in flight keep as inputs: it
// receives activations unless it is the first, gradients unless it is the last
// (torch.distributed.pipelining.stage, _prepare_forward_infra).
func received(l *plan.Layout, chunk int, alive int64) int64 {
	var n int64
	if chunk > 0 {
		n += int64(l.MicroBatches) - alive
	}
	if chunk < l.Chunks()-1 {
		n += int64(l.MicroBatches)
	}
	return n
}

// addLayers adds n layers of a kind with alive micro-batches in flight.
func (m *Model) addLayers(e *evaluation, ld *load, y *layer, n int, alive int64, first bool) {
	ld.elements = ld.elements.Add(y.elements.Times(n))
	ld.matrices = ld.matrices.Add(y.matrices.Times(n))
	if n := y.elements.Sum(); n > ld.block {
		ld.block, ld.worst = n, y.elements
	}
	ld.blocks += n
	checkpoints, whole := int64(n), int64(0)
	if e.l.Recompute == plan.RecomputeFull {
		switch {
		case e.l.RecomputeMethod == "block":
			checkpoints = int64(min(n, e.l.RecomputeLayers))
			whole = int64(n) - checkpoints
		case e.l.RecomputeLayers > 1:
			checkpoints = int64((n + e.l.RecomputeLayers - 1) / e.l.RecomputeLayers)
		}
	}
	ld.plain = ld.plain || whole > 0
	if e.x.OffloadActivations {
		ld.moved += (y.keptSum - y.staySum) * checkpoints * alive
		ld.transfer = max(ld.transfer, y.keptSum-y.staySum)
		ld.keep(&y.stay, y.staySum, checkpoints*alive)
	} else {
		ld.keep(&y.kept, y.keptSum, checkpoints*alive)
	}
	ld.keep(&y.whole, y.wholeSum, whole*alive)
	if first {
		ld.first += checkpoints*y.keptSum + whole*y.wholeSum
	}
}

// running makes a kind of layer the worst running one if it is.
func (m *Model) running(e *evaluation, ld *load, y *layer) {
	if ld.plain {
		if y.wholeBackward > ld.backward {
			ld.backward, ld.layer = y.wholeBackward, y.keptSum
		}
		return
	}
	recomputed := y.recomputed
	if e.l.Recompute == plan.RecomputeFull && e.l.RecomputeMethod != "block" && e.l.RecomputeLayers > 1 {
		recomputed *= int64(e.l.RecomputeLayers)
	}
	if recomputed+y.backward > ld.recomputed+ld.backward {
		ld.recomputed, ld.backward, ld.layer = recomputed, y.backward, y.keptSum
	}
}

// ends adds the parameters of embedding, final norm and head to the stages
// that hold them; a later stage holds a copy of the embedding for a tied head
// or for MTP layers.
func (m *Model) ends(e *evaluation, rank int, ld *load) {
	t, last := e.terms, rank == e.l.PipelineParallel-1
	model := m.arch.Model
	if rank == 0 {
		ld.elements.Dense += t.embedding
		ld.begin += t.embedding
		ld.embedding = t.embedding
		if e.l.VirtualPipeline > 1 {
			ld.earlier += t.embedding
		}
		if m.target.WholeEmbeddingGradient {
			ld.whole = t.embedding * int64(e.l.TensorParallel-1)
			ld.embedding += ld.whole
		}
	}
	if !last {
		return
	}
	ld.head = t.finalNorm + t.word
	ld.elements.Dense += t.finalNorm
	if rank > 0 && (model.TiedEmbeddings || model.MTPLayers > 0) {
		ld.elements.Dense += t.word
	}
	if !model.TiedEmbeddings {
		ld.elements.Dense += t.word
	}
}
