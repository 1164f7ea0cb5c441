package estimate

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/lang/units"
)

// tableKey is what the passes of a layer depend on.
type tableKey struct {
	tensor, context, expert, expertTensor, microBatch int32
	execution                                         int16
	modules                                           plan.Modules
	recompute                                         plan.Recompute
	sequence                                          bool
	block                                             bool // recompute of the first layers of a chunk, which MTP layers are not
	free                                              bool // of contention with what options overlap, for floors
	alone                                             bool // no exchange hides behind another micro-batch: there is one
}

// stateKey is what the state of the layers of a table depends on, beside it;
// the ranks that share state matter only where they communicate with every
// micro-batch.
type stateKey struct {
	with            runtime.PerMicroBatch
	shard, replicas int32
	zero            int8
	piped           bool
	phased          bool // all forward passes before any backward one, where that decides what is gathered
}

// wholeKey is what a table with its state depends on.
type wholeKey struct {
	tableKey
	stateKey
}

// termsKey is everything that the terms of a layout depend on.
type termsKey struct {
	tableKey
	pipeline, shard, replicas int32
	zero                      int8
	phased                    bool
}

// terms are the communicators and the table of a layout.
type terms struct {
	groups *groups
	table  *layerTable
	amax   *pass // at the end of a chunk
}

// terms finds the terms of a layout, building what is new.
func (e *Evaluator) terms(l *plan.Layout, x *plan.Execution) terms {
	k := termsKey{
		tableKey: e.tableKey(l, x),
		pipeline: int32(l.PipelineParallel), shard: int32(l.DataParallelShard), replicas: int32(l.DataParallelReplicate),
		zero: int8(l.ZeroStage), phased: e.phased(l),
	}
	if k == e.latest {
		return e.latestTerms
	}
	t, ok := e.known[k]
	if !ok {
		t.groups = e.groupsOf(l, x)
		t.table = e.stateTerms(wholeKey{k.tableKey, e.stateKey(l, x)}, l, x, t.groups)
		t.amax = e.amax(t.groups)
		remember(e.known, k, t, mostKnown)
	}
	e.latest, e.latestTerms = k, t
	return t
}

func (e *Evaluator) tableKey(l *plan.Layout, x *plan.Execution) tableKey {
	return tableKey{
		tensor: int32(l.TensorParallel), context: int32(l.ContextParallel),
		expert: int32(l.ExpertParallel), expertTensor: int32(l.ExpertTensorParallel), microBatch: int32(l.MicroBatchSize),
		execution: e.executionIndex(x), modules: l.RecomputeModules,
		recompute: l.Recompute, sequence: l.SequenceParallel, block: l.RecomputeMethod == "block" && e.model.MTP.Layers > 0, free: e.free && (x.OverlapTensorParallel || x.OverlapExpertParallel),
		alone: x.OverlapExpertParallel && l.MicroBatches == 1,
	}
}

// withoutExperts is the key of what of a table has no experts.
func (e *Evaluator) withoutExperts(k tableKey, x *plan.Execution) tableKey {
	if e.model.MoE == nil {
		return k
	}
	y := *x
	y.OverlapExpertParallel, y.MoEDispatcher = false, ""
	k.expert, k.expertTensor, k.execution, k.free, k.alone = 1, 1, e.executionIndex(&y), e.free && x.OverlapTensorParallel, false
	return k
}

// withoutState is the key of what of a table has no state, nor anything that comes once per step.
func (e *Evaluator) withoutState(k tableKey, x *plan.Execution) tableKey {
	y := *x
	y.OverlapGradientReduce, y.OverlapParameterGather, y.OverlapOptimizerGather, y.SHARP = false, false, false, ""
	y.OffloadOptimizer, y.OffloadParameters, y.OptimizerStateDType = false, false, ""
	k.execution = e.executionIndex(&y)
	return k
}

// phased reports whether the schedule of a pipeline decides which passes gather parameters, and
// is the one in which no backward pass comes before the last forward one.
func (e *Evaluator) phased(l *plan.Layout) bool {
	return e.runtime.Sharding.LeavesGathered && l.PipelineParallel > 1 && l.PipelineSchedule == plan.ScheduleGPipe
}

func (e *Evaluator) stateKey(l *plan.Layout, x *plan.Execution) stateKey {
	k := stateKey{with: e.runtime.ShardingOf(x).PerMicroBatch(l), piped: l.PipelineParallel > 1, phased: e.phased(l)}
	if k.with != (runtime.PerMicroBatch{}) {
		k.shard, k.replicas, k.zero = int32(l.DataParallelShard), int32(l.DataParallelReplicate), int8(l.ZeroStage)
	}
	return k
}

// remember keeps a term for the layouts to come, and forgets all of its kind once there
// are as many as may be: a search that nothing prunes asks for hundreds of thousands.
func remember[K comparable, V any](known map[K]V, k K, v V, most int) {
	if len(known) >= most {
		clear(known)
	}
	known[k] = v
}

// mostKnown bounds what is remembered of whole meshes, most of which are seen
// once; their tables stay.
const mostKnown = 1 << 12

// mostTables bounds what is remembered of ways to cut and run layers, and of their parts,
// some 20 kB each of a model with several kinds of them.
const mostTables = 1 << 12

// tableTerms is the table without state communication, from the cache.
func (e *Evaluator) tableTerms(k tableKey, l *plan.Layout, x *plan.Execution, g *groups) *layerTable {
	k = e.withoutState(k, x)
	t, ok := e.tables[k]
	if !ok {
		t = e.buildTable(l, x, g)
		remember(e.tables, k, t, mostTables)
	}
	return t
}

// stateTerms is the table with state communication, from the cache.
func (e *Evaluator) stateTerms(k wholeKey, l *plan.Layout, x *plan.Execution, g *groups) *layerTable {
	s, ok := e.stateTables[k]
	if !ok {
		s = &layerTable{}
		e.withState(s, e.tableTerms(k.tableKey, l, x, g), nil, l, x, g)
		remember(e.stateTables, k, s, mostTables)
	}
	return s
}

// withState makes of a table one with the parameters of its ends, what the host
// does between micro-batches, and the state communication of its passes, on some
// memory where that makes others of them.
func (e *Evaluator) withState(s, t *layerTable, memory []pass, l *plan.Layout, x *plan.Execution, g *groups) {
	*s = *t
	vocabulary := e.target.Vocabulary(e.model, l.TensorParallel)
	s.embedding.elements.Dense = e.arch.Embedding(vocabulary, e.runtime.TensorParallel.EmbeddingParts(l.TensorParallel))
	s.head.elements.Dense, s.head.elements.Replicated = e.arch.FinalNorm(), e.arch.FinalNorm()
	if !e.model.TiedEmbeddings || l.PipelineParallel > 1 {
		s.head.elements.Dense += e.arch.WordEmbedding(vocabulary, e.runtime.TensorParallel.HeadParts(l.TensorParallel))
	}
	if e.model.MTP.Layers > 0 && l.PipelineParallel > 1 && !e.model.TiedEmbeddings {
		s.head.elements.Dense += s.embedding.elements.Dense // the last stage's copy
	}
	if l.PipelineParallel == 1 {
		s.head.lines[lineHost] += e.hostBetween(x)
		s.head.forward += e.hostBetween(x)
	}
	if with := e.runtime.ShardingOf(x).PerMicroBatch(l); with != (runtime.PerMicroBatch{}) {
		s.layers = append(memory, t.layers...)
		(&fsdp{e: e, l: l, x: x, g: g, PerMicroBatch: with}).communicate(s)
		s.seal()
	}
	if e.factors != nil {
		e.factors.passes(s, g)
	}
}

// seal sums the exposed communication of every pass.
func (t *layerTable) seal() {
	for i := range t.layers {
		t.layers[i].exposed = t.layers[i].lines.exposed()
	}
	for _, p := range []*pass{&t.embedding, &t.head, &t.mtp} {
		p.exposed = p.lines.exposed()
	}
}

// executionIndex gives equal options one small number.
func (e *Evaluator) executionIndex(x *plan.Execution) int16 {
	for i := range e.executions {
		if e.executions[i] == *x {
			return int16(i)
		}
	}
	e.executions = append(e.executions, *x)
	return int16(len(e.executions) - 1)
}

// pipelineSeconds is the simulated pipeline of the step with some durations,
// remembered by them.
func (e *Evaluator) pipelineSeconds(d *schedule.Durations) units.Seconds {
	s := &e.step
	if s.shape.Pipeline == 1 {
		return units.Seconds(s.shape.MicroBatches) * s.work
	}
	h := mix(uint64(s.shape.Schedule)<<48 ^ uint64(s.shape.Pipeline)<<32 ^ uint64(s.shape.Virtual)<<24 ^ uint64(s.shape.MicroBatches))
	h = mix(h ^ math.Float64bits(float64(d.Transfer)))
	for c := range d.Forward {
		h = mix(h ^ math.Float64bits(float64(d.Forward[c])))
		h = mix(h ^ math.Float64bits(float64(d.InputGradient[c])))
	}
	for _, t := range d.WeightGradient {
		h = mix(h ^ math.Float64bits(float64(t)))
	}
	t, ok := e.pipelines[h]
	if !ok {
		t = e.simulator.Duration(s.shape, d)
		remember(e.pipelines, h, t, mostPipelines)
	}
	return t
}

// mostPipelines bounds what a long search remembers to some megabytes.
const mostPipelines = 1 << 18

// mix is the finaliser of splitmix64 (Steele et al. 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
