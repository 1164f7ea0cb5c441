package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// stageMemory is one pipeline rank at its peak.
type stageMemory struct {
	ledger *ledger     // nil where nobody asks; sums to sum
	sum    int64       // allocated bytes
	passes int64       // the most during the passes
	update int64       // at the update
	state  int64       // of these what neither micro-batch nor recompute changes
	loss   int64       // transients of the loss, where the stage has it
	graphs int64       // what CUDA graphs of modules take
	device units.Bytes // what the device shows
	host   hostMemory
}

// account is a rank whose instants are weighed.
type account struct {
	content   content
	state     state
	footprint footprint // at the instant at hand
	graphs    int64     // what CUDA graphs of modules, or experts in buffers of a fixed size, take
	spilled   int64     // pages of the host for the latter
}

// footprint is what a rank holds at an instant beside what it always holds and
// what its engine adds.
type footprint struct {
	kept      int64 // activations
	owed      int64 // gradients of activations that weight gradients wait for
	freed     int   // the class of the chunk whose activations the running layer's are left of, −1: none
	gradients int64 // begun ones
	gathered  int64 // parameters left gathered
	running   bool  // a layer runs backward
	head      int64
	stream    int64 // a gradient of activations outside of layers
	reduced   int64 // gradients outside of layers
}

// stage replays a pipeline rank: it weighs what exists at every instant of its
// passes and at the optimizer step, finds the peak, and fills the ledger if
// there is one.
func (m *Model) stage(e *evaluation, rank *stageRank, out *stageMemory) {
	var a account
	c, st := &a.content, &a.state
	out.state = m.open(e, rank, &a, out.ledger != nil)
	out.graphs = a.graphs
	if c.ends >= 0 {
		out.loss = e.terms.head.loss + c.endScratch // of which the allocator's share was measured
	}
	resident := st.resident.sum()
	out.sum = resident + st.step.sum()
	out.update = out.sum
	var peak *instant
	var moved int64
	for i := range rank.runs {
		if max(out.passes, out.update) > e.enough {
			break
		}
		r := &rank.runs[i]
		at := m.heavier(e, r, c)
		if !m.occurs(e, at, &a) {
			continue
		}
		engine := m.weigh(e, at, &a)
		n := resident + engine.sum() + a.footprint.sum(c)
		out.passes = max(out.passes, n)
		if n > out.sum {
			out.sum, peak = n, at
		}
		if c.transfer > 0 {
			moved = max(moved, c.moved(&r.first), c.moved(&r.last))
		}
	}
	out.device = units.Bytes(m.device(e, out))
	out.host = m.hostOf(e, st, moved, a.spilled)
	if out.ledger != nil {
		m.write(e, peak, &a, out.ledger)
	}
}

// open makes the account of a rank, with ledgers or without, and returns what
// neither micro-batch nor recompute changes.
func (m *Model) open(e *evaluation, rank *stageRank, a *account, ledgers bool) int64 {
	c, st := &a.content, &a.state
	m.content(e, rank, c, ledgers)
	m.state(e, &c.holding, st)
	resident := st.resident.sum()
	st.resident[lineWorkspaces] += e.terms.workspaces + int64(c.blocks)*e.terms.rotary
	st.resident[lineWeightGradients] += c.scratch
	st.resident[lineReceive] += c.receive
	a.graphs, a.spilled = m.graphs(e, rank, c)
	st.resident[lineGraphs] += a.graphs
	m.chunkState(e, a)
	return resident + max(st.step.sum(), c.begun(e.l, rank))
}

// begun is what gradients that come with the passes take at least when the last layer of a step
// makes its own. Split backward passes make them apart.
func (c *content) begun(l *plan.Layout, rank *stageRank) (bytes int64) {
	if schedule.Splits(l.PipelineSchedule) {
		return 0
	}
	var lacking int64
	for i, n := range rank.count {
		y := &c.chunks[i]
		bytes += int64(n) * y.gradients
		lacking = max(lacking, y.lacking)
	}
	return bytes - lacking
}

// heavier is the end of a run at which activations take more.
func (m *Model) heavier(e *evaluation, r *run, c *content) *instant {
	if r.steps == 0 {
		return &r.first
	}
	var more int64
	first, last := r.first.held, r.last.held
	for i := range first {
		more += int64(last[i].alive-first[i].alive)*c.chunks[i].kept + int64(last[i].waiting-first[i].waiting)*c.chunks[i].owed
	}
	if c.ends >= 0 {
		more += int64(last[c.ends].atHead()-first[c.ends].atHead()) * m.others(e, 1)
	}
	if more > 0 {
		return &r.last
	}
	return &r.first
}

// chunkState settles what the state of each chunk takes that comes and goes with
// its passes.
func (m *Model) chunkState(e *evaluation, a *account) {
	c, st := &a.content, &a.state
	for i := range c.chunks {
		y := &c.chunks[i]
		y.gathered = st.gathered * y.elements.Sum()
		y.gradients = st.begun.of(y.elements)
		lacking := c.worst
		if i == c.begins {
			lacking.Dense += c.embedding + c.whole
			if st.begun.whole {
				y.gradients += st.begun.of(program.Elements{Dense: c.whole})
			}
		}
		y.lacking = st.begun.of(lacking)
		if m.comings().gradients && e.l.ZeroStage > 0 { // added up in another type, layer by layer, by the next backward pass
			y.loose = m.element * y.elements.Sum()
			c.looseLayer = m.element * c.worst.Sum()
		}
		_, y.layer = m.layerKept(e, c, y)
	}
}

// occurs reports whether a rank comes by an instant under the layout's
// execution.
func (m *Model) occurs(e *evaluation, at *instant, a *account) bool {
	chunked := e.x.LossChunks > 1
	switch at.phase {
	case inLoss:
		return !chunked
	case inChunkedLoss:
		return chunked
	case inHeadReduction:
		return e.terms.head.reduced > 0
	case inSecondLayer:
		return a.content.blocks > 1 && a.state.next.reduce > 0
	}
	return true
}

// weigh makes the account's footprint that of an instant and returns what the
// engine keeps then.
func (m *Model) weigh(e *evaluation, at *instant, a *account) *transient {
	c, st, p := &a.content, &a.state, &a.footprint
	*p = footprint{freed: -1}
	kept := c.sent + 2*c.transfer
	for i := range at.held {
		h, y := &at.held[i], &c.chunks[i]
		kept += int64(h.alive) * y.kept
		p.owed += int64(h.waiting) * y.owed
		p.gradients += int64(h.begun)*y.gradients + int64(h.loose)*y.loose
		p.gathered += int64(h.gathered) * y.gathered
	}
	p.kept = kept
	var waiting, running int64 // at the head, and without the one that runs
	if c.ends >= 0 {
		waiting = int64(at.held[c.ends].atHead())
		running = waiting
		if at.ends && !at.late {
			running--
		}
	}
	y := &c.chunks[at.chunk]
	switch at.phase {
	case afterForward:
		p.head = m.others(e, running)
		return &st.forward
	case inLoss, inChunkedLoss:
		p.head = m.waiting(e, waiting) + e.terms.head.loss
		return &st.loss
	case inHeadReduction:
		p.head = m.waiting(e, waiting) + e.terms.head.reduced
		return &st.head
	case inFirstLayer:
		p.running, p.head = true, m.others(e, running)
		if m.runtime.Pipeline.ReceivesAll && e.l.PipelineParallel > 1 && !at.ends { // its incoming gradient is in a buffer of the stage
			p.stream = -min(e.terms.layers[0].input, c.backward)
		}
		if !at.ready {
			return &st.backward
		}
	case inSecondLayer:
		p.running = true
		p.kept -= y.layer
		return &st.next
	case inLastLayer:
		p.running, p.freed, p.head = true, at.chunk, m.others(e, running)
		p.kept += y.layer - y.layers
		if y.received > 0 && c.sent == 0 { // the gradient for the chunk before
			p.stream = y.received
		}
		if at.fresh {
			p.gradients -= y.lacking
		}
	case inEmbedding:
		p.freed = at.chunk
		p.kept -= y.layers
		p.stream, p.reduced = m.embedded(e), m.embeddingGradient(e, c)
		return &st.embedding
	case afterInputs:
		p.running, p.head = true, m.others(e, running)
		if at.adds {
			p.gradients += c.looseLayer
		}
	}
	return &st.later
}

// layerKept is what the layer of a chunk that runs backward last keeps: the worst
// of the rank, if the chunk has one.
func (m *Model) layerKept(e *evaluation, c *content, y *chunk) (kept *ledger, sum int64) {
	kind := c.kind
	for k := 0; k < e.terms.kinds && (kind < 0 || !y.present[kind]); k++ {
		if y.present[k] {
			kind = k
		}
	}
	switch {
	case kind < 0 || !y.present[kind]:
		return nil, 0
	case e.x.OffloadActivations:
		return &e.terms.layers[kind].stay, e.terms.layers[kind].staySum
	}
	return &e.terms.layers[kind].kept, e.terms.layers[kind].keptSum
}

// moved is what offloaded activations take of the host at an instant.
func (c *content) moved(at *instant) int64 {
	var n int64
	for i := range at.held {
		n += int64(at.held[i].alive) * c.chunks[i].moved
	}
	return n
}

// sum is the total in bytes.
func (p *footprint) sum(c *content) int64 {
	n := p.kept + p.owed + p.gradients + p.gathered + p.head + p.stream + p.reduced
	if p.running {
		n += c.recomputed + c.backward
	}
	return n
}

// write fills a ledger with what a rank holds at an instant, or in the optimizer
// step if there is none.
func (m *Model) write(e *evaluation, at *instant, a *account, out *ledger) {
	c, st, p := &a.content, &a.state, &a.footprint
	*out = st.resident
	if at == nil {
		st.step.write(out)
		return
	}
	m.weigh(e, at, a).write(out)
	m.writeKept(e, at, a, out)
	if p.running {
		out[lineRecomputed] += c.recomputed
		out[lineBackward] += c.backward
	}
	out[st.begun.line] += p.gradients
	out[lineGathered] += p.gathered
	out[lineHead] += p.head
	out[lineBackward] += p.stream + p.owed
	out[lineReduce] += p.reduced
}

// writeKept adds activations to a ledger.
func (m *Model) writeKept(e *evaluation, at *instant, a *account, out *ledger) {
	c, p := &a.content, &a.footprint
	for i := range at.held {
		y, n := &c.chunks[i], int64(at.held[i].alive)
		out[lineReceive] -= n * y.received
		if i == p.freed { // what does not belong to layers stays to the end of the pass
			n--
			out[lineNorms] += y.kept + y.received - y.layers
		}
		out.add(y.activations, n)
	}
	out[lineNorms] += c.sent
	out[lineTransfer] += 2 * c.transfer
	layer, _ := m.layerKept(e, c, &c.chunks[at.chunk])
	switch {
	case layer == nil:
	case at.phase == inLastLayer:
		out.add(layer, 1)
	case at.phase == inSecondLayer:
		out.add(layer, -1)
	}
}

// embedded is the gradient of what comes out of the input embedding, gathered
// over the tensor group; it is gone when the embedding's is reduced.
func (m *Model) embedded(e *evaluation) int64 {
	if m.runtime.Sharding.ReducesFP32 && e.l.PipelineParallel == 1 {
		return 0
	}
	return e.terms.start.Backward
}

// embeddingGradient is the whole gradient of the input embedding before it is
// accumulated or, where every micro-batch reduces, copied to fp32 and scattered.
func (m *Model) embeddingGradient(e *evaluation, c *content) int64 {
	n := m.element * (e.terms.embedding + c.whole)
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
// the layers of another run.
func (m *Model) others(e *evaluation, n int64) int64 {
	if n <= 0 {
		return 0
	}
	return m.waiting(e, n) + e.terms.head.saved
}
