package memory

import (
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// moment is a point of a step at which a rank may peak.
type moment uint8

const (
	atStep      moment = iota // the optimizer step
	atLoss                    // the loss runs backward
	atHead                    // the head's gradient is reduced after the last chunk of the loss
	atNextLoss                // the loss of the second micro-batch, when the first has left its gradients
	atForward                 // a chunk has run forward while others are gathered, everything in flight is alive
	atBackward                // the first layer runs backward, everything in flight is alive
	atNext                    // the second layer runs backward while the first is reduced
	atSecond                  // the first layer of the next micro-batch, when another has left its gradients and no forward pass came between
	atTurn                    // the same when the last forward pass is over and the rank comes to another chunk
	atEnd                     // the last layer of the first micro-batch runs backward
	atEmbedding               // the gradient of the input embedding is made
	numMoments
)

// point is what a rank holds at a moment beside what it always holds and what
// its engine adds.
type point struct {
	gradients bool  // those of earlier micro-batches
	kept      int64 // activations
	layer     bool  // a layer runs backward
	head      int64
	stream    int64 // a gradient of activations outside of layers
	reduced   int64 // gradients outside of layers
	lack      int64 // those of them that do not exist yet
	elsewhere int64 // what the engine's part counts and other chunks have given up
}

// account is a rank whose moments are compared.
type account struct {
	rank  int
	load  load
	state state
	point point // the moment at hand
}

// stage finds the peak of a pipeline rank among the moments of a step, and fills
// the ledger if there is one.
func (m *Model) stage(e *evaluation, rank int, out *stageMemory) {
	a := account{rank: rank}
	ld, st := &a.load, &a.state
	if out.ledger != nil {
		ld.activations = &ledger{}
	}
	m.load(e, rank, ld)
	m.state(e, &ld.holding, st)
	out.state = st.resident.sum() + st.step.sum()
	st.resident[lineWorkspaces] += e.terms.workspaces + int64(ld.blocks)*e.terms.rotary
	st.resident[lineWeightGradients] += ld.gradients
	st.resident[lineReceive] += ld.receive
	if ld.headAlive > 0 {
		out.loss = e.terms.head.loss
	}
	resident, gradients := st.resident.sum(), st.gradients.sum()
	peak := atStep
	for when := range numMoments {
		if !m.occurs(e, when, &a) {
			continue
		}
		engine := m.point(e, when, &a)
		if n := resident + engine.sum() + a.point.sum(gradients, ld); n > out.sum {
			out.sum, peak = n, when
		}
	}
	out.device = units.Bytes(m.device(e, out))
	out.host = hostMemory{state: st.host, activations: ld.moved, checkpoint: m.staging(e, st)}
	if out.ledger != nil {
		*out.ledger = st.resident
		m.point(e, peak, &a).write(out.ledger)
		if a.point.gradients {
			st.gradients.write(out.ledger)
		}
		a.point.write(e, ld, out.ledger)
	}
}

// occurs reports whether a rank comes by a moment.
func (m *Model) occurs(e *evaluation, when moment, a *account) bool {
	ld, h := &a.load, &e.terms.head
	switch when {
	case atLoss:
		return ld.headAlive > 0
	case atHead:
		return ld.headAlive > 0 && h.reduced > 0
	case atNextLoss:
		return !ld.again && ld.headAlive > 1 && h.reduced == 0
	case atForward:
		return ld.again && a.state.forward.gathered > 0
	case atNext:
		return ld.blocks > 1 && a.state.next.reduce > 0
	case atSecond:
		return ld.inFlight > 1
	case atTurn:
		return ld.turn > 0 && ld.inFlight > 1+ld.turn
	case atEmbedding:
		return a.rank == 0
	}
	return true
}

// point describes a moment of a rank and returns what the engine keeps then.
func (m *Model) point(e *evaluation, when moment, a *account) *transient {
	h, ld, st, p := &e.terms.head, &a.load, &a.state, &a.point
	*p = point{}
	switch when {
	case atLoss:
		p.gradients, p.kept, p.head = ld.some, ld.kept, m.waiting(e, ld.headAlive)+h.loss
		p.lack, p.elsewhere = m.unbegun(e, ld), m.resharded(e, ld)
		return &st.loss
	case atHead:
		p.gradients, p.kept, p.head = ld.some, ld.kept, m.waiting(e, ld.headAlive)+h.reduced
		p.lack, p.elsewhere = m.unbegun(e, ld), m.resharded(e, ld)
		return &st.head
	case atNextLoss:
		p.gradients, p.kept, p.head = true, ld.without(1), m.waiting(e, ld.headAlive-1)+h.loss
		p.lack, p.elsewhere = m.unbegun(e, ld), m.resharded(e, ld)
		return &st.later
	case atForward:
		p.gradients, p.kept = true, ld.kept
		return &st.forward
	case atBackward:
		p.gradients, p.kept, p.layer, p.head = ld.some, ld.kept, true, m.others(e, ld.headAlive-1)
		p.lack = m.unbegun(e, ld)
		if !ld.apart {
			p.elsewhere = m.resharded(e, ld)
		}
		return &st.backward
	case atNext:
		p.gradients, p.kept, p.layer = ld.some, ld.kept-ld.layer, true
		return &st.next
	case atSecond:
		p.gradients, p.kept, p.layer, p.head = true, ld.without(1), true, m.others(e, ld.headAlive-2)
		p.lack, p.elsewhere = m.unbegun(e, ld), max(m.resharded(e, ld), ld.untilTurn(st))
		return &st.later
	case atTurn:
		p.gradients, p.kept, p.layer = true, ld.without(1+ld.turn), true
		return &st.later
	case atEnd:
		p.gradients, p.kept, p.layer, p.head = true, ld.ending(), true, m.others(e, ld.headAlive-1)
		p.lack, p.elsewhere = m.pending(e, ld), ld.elsewhere(st)
		return &st.later
	case atEmbedding:
		p.gradients, p.kept = true, ld.begun()-ld.first
		p.stream, p.reduced = m.embedded(e), m.embeddingGradient(e, ld)
		return &st.embedding
	}
	return &st.step // atStep
}

// sum is the total in bytes without the engine's part; gradients are those of
// earlier micro-batches.
func (p *point) sum(gradients int64, ld *load) int64 {
	n := p.kept + p.head + p.stream + p.reduced - p.elsewhere
	if p.gradients {
		n += gradients - p.lack
	}
	if p.layer {
		n += ld.recomputed + ld.backward
	}
	return n
}

// write adds all of the point but the gradients of earlier micro-batches to a
// ledger.
func (p *point) write(e *evaluation, ld *load, out *ledger) {
	if p.kept > 0 {
		ld.scale(p.kept)
		out.add(ld.activations, 1)
	}
	if p.layer {
		out[lineRecomputed] += ld.recomputed
		out[lineBackward] += ld.backward
	}
	out[lineHead] += p.head
	out[lineBackward] += p.stream
	out[lineReduce] += p.reduced
	out[lineGathered] -= p.elsewhere
	switch {
	case !p.gradients:
	case e.l.PipelineParallel == 1:
		out[lineGradients] -= p.lack
	default:
		out[lineReduce] -= p.lack
	}
}

// embedded is the gradient of what comes out of the input embedding, gathered
// over the tensor group; it is gone when fully_shard reduces the embedding's.
func (m *Model) embedded(e *evaluation) int64 {
	if m.runtime.Sharding.ReducesFP32 && e.l.PipelineParallel == 1 {
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
	if m.runtime.Sharding.ReducesFP32 && e.l.PipelineParallel == 1 {
		n += 4 * e.terms.embedding
	}
	return n
}

// waiting is what n micro-batches that wait at the head keep there.
func (m *Model) waiting(e *evaluation, n int64) int64 {
	each := e.terms.head.kept
	if m.runtime.Pipeline.KeepsOutputs && e.l.PipelineParallel > 1 {
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
	if ld.again || !m.runtime.Sharding.ReducesFP32 || e.x.OffloadParameters || e.x.OffloadOptimizer {
		return 0
	}
	n := unsharded
	if e.l.PipelineParallel == 1 {
		n = e.shards
	}
	return n.of(4, ld.worst.Add(program.Elements{Dense: ld.embedding + ld.whole}))
}

// elsewhere is what the other chunks of a rank have gathered when its first one
// runs backward, and give up when they run forward in between.
func (ld *load) elsewhere(st *state) int64 {
	if !ld.apart {
		return 0
	}
	return st.later.gathered - st.embedding.gathered
}

// without is what is kept once n micro-batches are done, where all is in flight
// at once those of later chunks.
func (ld *load) without(n int) int64 {
	if later := ld.inFlight - ld.onFirst; ld.several && !ld.again && later > 0 {
		return ld.kept - (ld.kept-ld.keptFirst)/int64(later)*int64(min(n, later))
	}
	return ld.kept / int64(ld.inFlight) * int64(ld.inFlight-n)
}

// ending is what is kept while the last layer of the first micro-batch runs
// backward.
func (ld *load) ending() int64 { return max(ld.begun()-ld.first, 0) + ld.layer }

// begun is what is kept when the first chunk starts to run backward: where all
// is in flight at once, the other chunks are done by then.
func (ld *load) begun() int64 {
	if ld.several && !ld.again {
		return ld.keptFirst
	}
	return ld.kept
}

// unbegun is what the whole gradients of a pipeline rank lack while only its
// last chunk has run backward, or none: those of the others.
func (m *Model) unbegun(e *evaluation, ld *load) int64 {
	if ld.again || !ld.several || !m.runtime.Sharding.ReducesFP32 {
		return 0
	}
	return 4 * (ld.earlier + ld.whole)
}

// resharded is what the other chunks have not gathered before they run backward.
func (m *Model) resharded(e *evaluation, ld *load) int64 {
	if ld.again || !ld.several || !m.runtime.Sharding.ReducesFP32 || !e.x.ReshardAfterForward {
		return 0
	}
	return ld.earlier * m.element
}

// untilTurn is what the other chunks have not gathered before a rank comes to
// them, once it runs no more chunks forward.
func (ld *load) untilTurn(st *state) int64 {
	if ld.turn == 0 {
		return 0
	}
	return ld.elsewhere(st)
}

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
