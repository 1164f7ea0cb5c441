package memory

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/compiler/transformer"
)

// maxKinds bounds the distinct kinds of layer of a model: dense or MoE, with
// and without a window, and MTP.
const maxKinds = 6

// terms is what a shape settles once for every layout that shares it.
type terms struct {
	layers     [maxKinds]layer
	kinds      int
	embedding  int64 // elements of the input embedding on a rank, positions included
	word       int64 // elements of the output head
	finalNorm  int64
	head       head
	workspaces int64
}

// evaluation is one layout being evaluated.
type evaluation struct {
	l      *plan.Layout
	x      *plan.Execution
	terms  *terms
	shards sharding
}

// evaluate looks up or makes the terms of a layout.
func (m *Model) evaluate(l *plan.Layout, x *plan.Execution) evaluation {
	key := m.shapeOf(l, x)
	t := m.cache[key]
	if t == nil {
		t = m.makeTerms(key)
		m.cache[key] = t
	}
	m.place(l)
	return evaluation{l: l, x: x, terms: t, shards: shardingOf(l)}
}

// place fills starts with the first decoder layer of every chunk.
func (m *Model) place(l *plan.Layout) {
	chunks := l.Chunks()
	if cap(m.starts) <= chunks {
		m.starts = make([]int, chunks+1)
	}
	m.starts = m.starts[:chunks+1]
	n := m.arch.Model.Layers
	for c := range chunks {
		size := n/chunks + b2i(c < n%chunks)
		if len(l.StageLayers) == chunks {
			size = l.StageLayers[c]
		}
		m.starts[c+1] = m.starts[c] + size
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// makeTerms builds every kind of layer for a shape.
func (m *Model) makeTerms(s shape) *terms {
	vocabulary := m.arch.Model.VocabSize
	if m.target.PaddedVocab != nil {
		vocabulary = m.target.PaddedVocab(m.arch.Model, s.tp)
	}
	t := &terms{kinds: len(m.arch.Kinds())}
	for k, kind := range m.arch.Kinds() {
		b := m.builder(s, kind)
		b.build()
		t.layers[k] = b.finish()
		m.weights(&t.layers[k], k, &s)
	}
	b := m.builder(s, transformer.Kind{})
	t.head = b.head(vocabulary)
	t.embedding = m.arch.Embedding(vocabulary, s.tp)
	t.word = m.arch.WordEmbedding(vocabulary, s.tp)
	t.finalNorm = m.arch.FinalNorm()
	t.workspaces = m.workspaces(&s)
	return t
}

func (m *Model) builder(s shape, kind transformer.Kind) builder {
	model := m.arch.Model
	b := builder{arch: m.arch, kind: kind, style: m.style, shape: s, element: m.element,
		input: m.precision.inputBytes, low: m.precision.weightBytes > 0, align: m.precision.align, target: m.target,
		tokens: int64(s.micro * model.SequenceLength / s.cp), dropout: model.Dropout > 0}
	b.local = b.tokens
	if s.sequence {
		b.local = b.tokens / int64(s.tp)
	}
	return b
}

// weights counts the parameters of a kind of layer on a rank.
func (m *Model) weights(l *layer, kind int, s *shape) {
	split := s.split()
	l.elements = m.arch.Layer(kind, split)
	for _, t := range m.arch.Tensors(kind) {
		if !t.Matrix() || t.Component == transformer.Router {
			continue
		}
		n := t.Local(split)
		if t.Expert() {
			l.matrices.Expert += n
			n /= int64(t.Copies / s.ep) // one expert's
		} else {
			l.matrices.Dense += n
		}
		if !m.style.weightGradients {
			continue
		}
		if t.Component == transformer.Attention {
			l.attention += n * m.element
		} else {
			l.gradients += n * m.element
		}
	}
}

// workspaces are the library workspaces and the tables of rotary embeddings.
func (m *Model) workspaces(s *shape) int64 {
	n := int64(overheads["workspace"])
	if m.job.Cluster.GPU.ComputeCapability >= "9" || len(m.job.Cluster.GPU.ComputeCapability) > 3 {
		n = int64(overheads["workspace_hopper"])
	}
	if m.arch.Model.MoE != nil && m.style.weightGradients {
		n += n * int64(overheads["grouped_gemm_streams"])
	}
	if s.userBuffers && m.style.weightGradients {
		tokens := int64(s.micro * m.arch.Model.SequenceLength / s.cp)
		n += int64(overheads["user_buffers"]) * tokens * int64(m.arch.Model.HiddenSize) * m.element
	}
	if m.arch.Model.PositionEmbedding.Kind == "rope" {
		n += int64(m.arch.Model.SequenceLength) * int64(m.arch.Model.HeadDim) * 4
	}
	return n
}

// stageMemory is one pipeline rank at its peak.
type stageMemory struct {
	detail bool   // fill the ledger
	sum    int64  // allocated bytes
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
	atBackward                // the first layer runs backward, everything in flight is alive
	atSecond                  // the same for the second micro-batch, when the first has left its gradients
	atEnd                     // the last layer of the last backward pass
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
	st.resident[lineWorkspaces] += e.terms.workspaces
	st.resident[lineWeightGradients] += ld.gradients

	resident, gradients := st.resident.sum(), st.gradients.sum()
	running := resident
	if ld.again {
		running += gradients
	}
	backward := st.backward.sum()
	var at [numMoments]int64
	at[atStep] = resident + gradients + st.step.sum()
	at[atBackward] = running + backward + ld.kept + ld.recomputed + ld.backward
	at[atEnd] = resident + gradients + backward + ld.layer + ld.recomputed + ld.backward
	if !ld.again && ld.inFlight > 1 {
		at[atSecond] = resident + gradients + backward + ld.remaining() + ld.recomputed + ld.backward
	}
	if ld.headAlive > 0 {
		out.loss = e.terms.head.loss
		at[atLoss] = running + st.loss.sum() + ld.kept + ld.headAlive*e.terms.head.kept + e.terms.head.loss
	}
	if rank == 0 {
		at[atEmbedding] = resident + gradients + ld.kept - ld.first + m.embeddingGradient(e)
	}
	when := atStep
	for i := range at {
		if at[i] > at[when] {
			when = moment(i)
		}
	}
	out.sum = at[when]
	if out.detail {
		out.host = hostMemory{state: st.host, activations: ld.moved, checkpoint: m.staging(e, &st)}
	}
	if out.detail {
		m.compose(e, when, &ld, &st, &out.ledger)
	}
}

// compose writes the ledger of a moment; its sum is the moment's.
func (m *Model) compose(e *evaluation, when moment, ld *load, st *state, out *ledger) {
	*out = st.resident
	if when != atLoss && when != atBackward || ld.again {
		out.add(&st.gradients, 1)
	}
	if when == atStep {
		out.add(&st.step, 1)
		return
	}
	switch when {
	case atLoss:
		out.add(&st.loss, 1)
	case atBackward, atSecond, atEnd:
		out.add(&st.backward, 1)
	}
	switch when {
	case atLoss:
		out.add(&ld.activations, 1)
		out[lineHead] += ld.headAlive*e.terms.head.kept + e.terms.head.loss
	case atSecond, atBackward:
		if when == atSecond {
			ld.scale(ld.remaining())
		}
		out.add(&ld.activations, 1)
		out[lineRecomputed] += ld.recomputed
		out[lineBackward] += ld.backward
	case atEnd:
		out[lineInputs] += ld.layer
		out[lineRecomputed] += ld.recomputed
		out[lineBackward] += ld.backward
	case atEmbedding:
		ld.scale(ld.kept - ld.first)
		out.add(&ld.activations, 1)
		out[lineReduce] += m.embeddingGradient(e)
	}
}

// embeddingGradient is the whole gradient of the input embedding before it is
// accumulated or, under fully_shard without a pipeline, copied to fp32 and
// scattered.
func (m *Model) embeddingGradient(e *evaluation) int64 {
	n := m.element
	if m.style.reduceFP32 && e.l.PipelineParallel == 1 {
		n += 4
	}
	return n * e.terms.embedding
}

// remaining is what is kept once the first micro-batch is done.
func (ld *load) remaining() int64 { return ld.kept / int64(ld.inFlight) * int64(ld.inFlight-1) }

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
	for i := range l.VirtualPipeline {
		c := i*l.PipelineParallel + rank
		alive := int64(schedule.InFlightChunk(l.PipelineSchedule, l.PipelineParallel, l.VirtualPipeline, l.MicroBatches, rank, i))
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
		if c == 0 && m.arch.Model.Dropout > 0 { // the mask on the embedding's output, one byte per element
			ld.keepStream(alive * t.layers[0].input / m.element)
		}
		if m.style.keepOutputs && c < l.Chunks()-1 && l.PipelineParallel > 1 {
			ld.keepStream(alive * t.layers[0].input)
		}
		if rank == last && i == l.VirtualPipeline-1 {
			ld.headAlive = max(alive, 1)
		}
	}
	if rank > 0 { // the gradient sent to the stage before lives until the next one replaces it
		ld.keepStream(t.layers[0].input)
	}
	ld.inFlight = schedule.InFlight(l.PipelineSchedule, l.PipelineParallel, l.VirtualPipeline, l.MicroBatches, rank)
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

// addLayers adds n layers of a kind with alive micro-batches in flight.
func (m *Model) addLayers(e *evaluation, ld *load, y *layer, n int, alive int64, first bool) {
	ld.elements = ld.elements.Add(y.elements.Times(n))
	ld.matrices = ld.matrices.Add(y.matrices.Times(n))
	ld.block = max(ld.block, y.elements.Sum())
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
