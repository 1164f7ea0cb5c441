package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// stageMemory is one pipeline rank at its peak.
type stageMemory struct {
	ledger *ledger     // nil where nobody asks; sums to sum
	sum    int64       // allocated bytes
	state  int64       // of these what neither micro-batch nor recompute changes
	loss   int64       // transients of the loss, where the stage has it
	device units.Bytes // what the device shows
	host   hostMemory
}

// load is what the chunks of a rank add up to.
type load struct {
	holding
	present     [maxKinds]bool // kinds of layers
	activations *ledger        // of all micro-batches in flight; nil where nobody asks
	kept        int64          // the sum of activations
	first       int64          // kept by one micro-batch on the first local chunk
	keptFirst   int64          // by all on that chunk
	onFirst     int            // of inFlight on that chunk
	moved       int64          // offloaded to the host
	transfer    int64          // offloaded tensors of one layer, the largest
	layer       int64          // kept by the last layer to run backward
	recomputed  int64          // worst running layer
	backward    int64
	gradients   int64 // scratch weight gradients
	headAlive   int64 // micro-batches that wait at the head
	receive     int64 // what is received into, beside the inputs of what is in flight
	plain       bool  // block recompute leaves layers at the end of a chunk that run backward first
}

// keep adds n times a layer's kept tensors.
func (ld *load) keep(y *ledger, sum, n int64) {
	ld.kept += n * sum
	if ld.activations != nil && n != 0 {
		ld.activations.add(y, n)
	}
}

// keepBytes adds to one line of what is kept.
func (ld *load) keepBytes(ln line, bytes int64) {
	ld.kept += bytes
	if ld.activations != nil {
		ld.activations[ln] += bytes
	}
}

// load adds up the chunks of a rank.
func (m *Model) load(e *evaluation, rank int, ld *load) {
	l, t := e.l, e.terms
	ld.flights = m.pipeline.flights[rank]
	for i := range l.VirtualPipeline {
		alive := int64(ld.alive.On(i))
		c := m.pipeline.chunk(rank, i)
		m.chunk(e, c, alive, ld)
		if c == l.Chunks()-1 {
			ld.headAlive = max(alive, 1)
		}
	}
	if rank > 0 && (!m.runtime.Pipeline.ReceivesAll || l.PipelineSchedule == plan.Schedule1F1B) { // the gradient sent to the stage before lives until the next one replaces it
		ld.keepBytes(lineNorms, t.layers[0].input)
	}
	// One layer's offloaded tensors are on their way out or back while the next runs.
	ld.keepBytes(lineTransfer, 2*ld.transfer)
	m.ends(e, rank, ld)
	var attention int64
	for k := range t.kinds {
		if ld.present[k] {
			m.running(e, ld, &t.layers[k])
			ld.gradients += t.layers[k].gradients
			attention = max(attention, t.layers[k].attention)
		}
	}
	ld.gradients += attention
}

// chunk adds the layers of a chunk with alive micro-batches in flight, and what
// a pipeline keeps for it.
func (m *Model) chunk(e *evaluation, c int, alive int64, ld *load) {
	l, t := e.l, e.terms
	first, last := c < l.PipelineParallel, c == l.Chunks()-1 // the first of its rank, the last of all
	ld.earlier = ld.elements.Sum()
	for k := range t.kinds {
		n := m.arch.Count(k, m.pipeline.starts[c], m.pipeline.starts[c+1])
		if last && k == m.arch.MTPKind() {
			n += m.arch.Model.MTPLayers
		}
		if n > 0 {
			ld.present[k] = true
			m.addLayers(e, ld, &t.layers[k], n, alive, first)
		}
	}
	if c == 0 && m.arch.Model.Dropout > 0 { // the mask on the embedding's output, one byte per element
		ld.keepBytes(lineNorms, alive*t.layers[0].input/m.element)
	}
	if m.runtime.Pipeline.KeepsOutputs && !last && l.PipelineParallel > 1 {
		ld.keepBytes(lineNorms, alive*t.layers[0].input)
	}
	if m.runtime.Pipeline.ReceivesAll {
		ld.receive += received(l, c, alive) * t.layers[0].input
	}
	if first {
		ld.begin, ld.keptFirst, ld.onFirst = ld.elements.Sum(), ld.kept, int(alive)
	}
}

// received is the number of residual streams that a chunk of a pipeline has
// buffers for beside those that the micro-batches in flight keep as inputs: it
// receives activations unless it is the first, gradients unless it is the last.
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
	t, last := e.terms, m.pipeline.place.Rank(e.l.Chunks()-1, e.l.PipelineParallel) == rank
	model := m.arch.Model
	if rank == 0 {
		ld.elements.Dense += t.embedding
		ld.begin += t.embedding
		ld.embedding = t.embedding
		if e.l.VirtualPipeline > 1 {
			ld.earlier += t.embedding
		}
		if m.runtime.TensorParallel.WholeEmbeddingGradient {
			ld.whole = t.embedding * int64(e.l.TensorParallel-1)
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
