package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
)

// chunk is what a chunk of a rank weighs, in bytes.
type chunk struct {
	elements program.Elements // parameters, those of the pipeline's ends included
	matrices program.Elements // part of elements that low precision copies
	blocks   int
	kept     int64          // activations of a micro-batch, without the buffer that it was received into
	received int64          // that buffer
	layers   int64          // what the layers keep of a micro-batch, that buffer included
	layer    int64          // what the layer that runs backward last keeps of it
	owed     int64          // gradients of a micro-batch that its weight gradients wait for
	loose    int64          // gradients of weights that are made apart, before they are added to the others
	present  [maxKinds]bool // kinds of layers
	moved    int64          // activations of a micro-batch that wait on the host
	receive  int64          // buffers to receive into, for the whole step
	static   int64          // inputs and outputs of CUDA graphs, or pages of experts, for every micro-batch in flight
	// gradients exist from the first backward pass on, and lack some before the
	// last layer has made its own; zero where an engine has them always.
	gradients, lacking int64
	gathered           int64   // parameters that a backward pass leaves gathered
	activations        *ledger // kept and received; nil where nobody asks
}

// content is what the chunks of a rank add up to.
type content struct {
	holding
	chunks     []chunk        // of every class one
	begins     int            // the class of the chunk with the input embedding, −1: none
	ends       int            // that of the chunk with the output head, −1: none
	present    [maxKinds]bool // kinds of layers
	kind       int            // of the worst layer to run backward, −1: none
	recomputed int64          // what it makes again
	backward   int64          // its gradients of activations
	sent       int64          // gradient of activations on its way to the stage before
	transfer   int64          // offloaded tensors of one layer, the largest
	scratch    int64          // scratch gradients of weights that stay
	endScratch int64          // that of the output head
	receive    int64          // buffers that a pipeline stage receives into, for the whole step
	looseLayer int64          // what the largest layer has of a chunk's loose gradients
	unsaved    bool           // block recompute leaves layers at the end of a chunk that run backward first
}

// content adds up the chunks of a rank.
func (m *Model) content(e *evaluation, rank *stageRank, c *content, ledgers bool) {
	c.chunks, c.begins, c.ends, c.kind = m.chunks[:0], -1, -1, -1
	for i, number := range rank.chunks {
		c.chunks = append(c.chunks, chunk{})
		if ledgers {
			c.chunks[i].activations = &ledger{}
		}
		m.fill(e, number, i, c)
	}
	m.chunks = c.chunks
	if rank.number > 0 && (!m.runtime.Pipeline.ReceivesAll || e.l.PipelineSchedule == plan.Schedule1F1B) { // lives until the next one replaces it
		c.sent = e.terms.layers[0].input
	}
	for i, n := range rank.count {
		y := &c.chunks[i]
		c.elements, c.matrices = c.elements.Add(y.elements.Times(n)), c.matrices.Add(y.matrices.Times(n))
		c.blocks += n * y.blocks
		c.receive += int64(n) * y.receive
	}
	var scratch, attention int64
	for k := range e.terms.kinds {
		if c.present[k] {
			y := &e.terms.layers[k]
			m.running(e, c, k)
			c.weight = max(c.weight, y.weight)
			scratch += y.gradients
			attention = max(attention, y.attention)
		}
	}
	if m.runtime.Accumulates(e.x) {
		c.scratch = scratch + attention + c.endScratch
	}
}

// fill adds a chunk: its layers, the ends of the pipeline that it holds, and
// what a pipeline keeps for it.
func (m *Model) fill(e *evaluation, number, class int, c *content) {
	l, t, p := e.l, e.terms, m.pipeline
	y := &c.chunks[class]
	first, last := number == 0, number == l.Chunks()-1
	for k := range t.kinds {
		mtp := 0
		if last && k == m.arch.MTPKind() {
			mtp = m.arch.Model.MTP.Layers
		}
		if n := mtp + m.arch.Count(k, p.starts[number], p.starts[number+1]); n > 0 {
			c.present[k] = true
			y.present[k] = true
			inputs, whole := m.kept(l, k, p.starts[number], p.starts[number+1], mtp)
			e.addLayers(c, y, alike{kind: k, count: n, inputs: int64(inputs), whole: int64(whole)})
		}
	}
	y.layers = y.kept
	input := t.layers[0].input
	if first {
		y.keep(lineNorms, t.start.Kept())
	}
	if m.runtime.Pipeline.KeepsOutputs && !last && l.PipelineParallel > 1 {
		y.keep(lineNorms, input)
	}
	if m.runtime.Pipeline.ReceivesAll {
		m.receive(e, number, y)
	}
	if m.endsDecoder(number) {
		y.elements.Dense += t.finalNorm
		if !last { // else it is a part of the head
			y.keep(lineNorms, input)
		}
	}
	if first {
		c.begins = class
		m.begin(e, c, y)
	}
	if last {
		c.ends = class
		m.end(e, c, y)
	}
}

// keep adds to one line of what a micro-batch keeps.
func (y *chunk) keep(ln line, bytes int64) {
	y.kept += bytes
	if y.activations != nil {
		y.activations[ln] += bytes
	}
}

// keepLayers adds n times what a layer keeps.
func (y *chunk) keepLayers(kept *ledger, sum, n int64) {
	y.kept += n * sum
	if y.activations != nil && n != 0 {
		y.activations.add(kept, n)
	}
}

// receive adds the buffers of a chunk of a pipeline that has them for all
// micro-batches of a step: it receives activations unless it is the first,
// gradients unless it is the last. The first layer keeps such a buffer as its
// input.
func (m *Model) receive(e *evaluation, number int, y *chunk) {
	input := e.terms.layers[0].input
	if number > 0 {
		y.receive += int64(e.l.MicroBatches) * input
		if y.layers >= input && !e.x.OffloadActivations {
			y.received = input
			y.kept -= input
		}
	}
	if number < e.l.Chunks()-1 {
		y.receive += int64(e.l.MicroBatches) * input
	}
}

// begin adds the input embedding.
func (m *Model) begin(e *evaluation, c *content, y *chunk) {
	c.embedding = e.terms.embedding
	y.elements.Dense += e.terms.embedding
	if m.runtime.TensorParallel.WholeEmbeddingGradient {
		c.whole = e.terms.embedding * int64(e.l.TensorParallel-1)
	}
}

// endsDecoder reports whether the norm behind the last decoder layer is in a chunk.
func (m *Model) endsDecoder(number int) bool {
	starts := m.pipeline.starts
	last := len(starts) - 2
	if m.runtime.Pipeline.NormBehindLayers && m.arch.Model.MTP.Layers > 0 {
		for starts[last] == starts[last+1] {
			last--
		}
	}
	return number == last
}

// end adds the output head. A rank that does not hold the embedding has a copy of
// it for a tied head or for MTP layers.
func (m *Model) end(e *evaluation, c *content, y *chunk) {
	t := e.terms
	c.head = t.word
	if m.endsDecoder(e.l.Chunks() - 1) {
		c.head += t.finalNorm
	}
	if m.runtime.Layers.AccumulatesWeightGradients {
		c.endScratch = t.word * m.element
	}
	y.owed += t.head.kept + t.head.output + 2*t.layers[0].input
	tied := m.arch.Model.TiedEmbeddings
	if !tied {
		y.elements.Dense += t.word
	}
	if c.begins < 0 && (tied || m.arch.Model.MTP.Layers > 0) {
		y.elements.Dense += t.word
	}
}

// kept counts the layers of a kind of a chunk [first, end) and the MTP layers behind it
// of which the inputs are kept, or, where nothing or modules alone are recomputed, what
// any layer keeps, and those that keep all in spite of recompute. Block recompute is of
// the first layers of the chunk, whatever they are, and of no MTP layer; uniform
// recompute keeps the input of the first layer of each group.
func (m *Model) kept(l *plan.Layout, kind, first, end, mtp int) (inputs, whole int) {
	all, group := m.arch.Count(kind, first, end), l.RecomputeLayers
	switch {
	case l.Recompute != plan.RecomputeFull:
	case l.RecomputeMethod == "block":
		again := m.arch.Count(kind, first, min(first+group, end))
		return again, all - again + mtp
	case group > 1:
		for at := first; at < end; at += group {
			if m.arch.KindOf(at) == kind {
				inputs++
			}
		}
		return inputs + mtp, 0
	}
	return all + mtp, 0
}

// alike are the layers of one kind in a chunk, of which some keep their inputs and some all.
type alike struct {
	kind, count   int
	inputs, whole int64
}

// addLayers adds layers to a chunk.
func (e *evaluation) addLayers(c *content, y *chunk, of alike) {
	t, n := &e.terms.layers[of.kind], int64(of.count)
	y.elements = y.elements.Add(t.elements.Times(of.count))
	y.matrices = y.matrices.Add(t.matrices.Times(of.count))
	if n := t.elements.Sum(); n > c.block {
		c.block, c.worst = n, t.elements
	}
	y.blocks += of.count
	y.owed += n * t.owed
	y.static += n * t.static
	c.unsaved = c.unsaved || of.whole > 0
	if e.x.OffloadActivations {
		y.moved += (t.keptSum - t.staySum) * of.inputs
		c.transfer = max(c.transfer, t.keptSum-t.staySum)
		y.keepLayers(&t.stay, t.staySum, of.inputs)
	} else {
		y.keepLayers(&t.kept, t.keptSum, of.inputs)
	}
	y.keepLayers(&t.whole, t.wholeSum, of.whole)
}

// running makes a kind of layer the worst running one if it is.
func (m *Model) running(e *evaluation, c *content, kind int) {
	y := &e.terms.layers[kind]
	if c.unsaved {
		if y.wholeBackward > c.backward {
			c.backward, c.kind = y.wholeBackward, kind
		}
		return
	}
	recomputed := y.recomputed
	if e.l.Recompute == plan.RecomputeFull && e.l.RecomputeMethod != "block" && e.l.RecomputeLayers > 1 {
		recomputed *= int64(e.l.RecomputeLayers)
	}
	if recomputed+y.backward > c.recomputed+c.backward {
		c.recomputed, c.backward, c.kind = recomputed, y.backward, kind
	}
}
