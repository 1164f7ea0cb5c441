package estimate

import "github.com/ndc-dev/ndc/lang/units"

// line is one part of the step's breakdown.
type line uint8

// The breakdown, in the order of the plan.
const (
	lineLinear line = iota
	lineExperts
	lineAttention
	lineMemoryBound
	lineHead
	lineRecompute
	lineHost
	lineContention
	lineOffload
	lineOptimizer
	lineHostUpdate
	lineTensor
	lineContext
	lineExpert
	lineState
	linePipeline
	lineGradients
	lineParameters
	lineSmall
	lineBubble
	lineStraggler
	lines
)

// lineNames gives each line its id in the plan and its words.
var lineNames = [lines]struct{ id, name string }{
	lineLinear:      {"linear", "dense matrix multiplications"},
	lineExperts:     {"experts", "expert matrix multiplications"},
	lineAttention:   {"attention", "attention"},
	lineMemoryBound: {"memory_bound", "memory-bound kernels"},
	lineHead:        {"head", "embedding, head and loss"},
	lineRecompute:   {"recompute", "recompute"},
	lineHost:        {"host", "host and launch overhead"},
	lineContention:  {"contention", "compute slowed by hidden communication"},
	lineOffload:     {"offload", "activations on their way to the host and back"},
	lineOptimizer:   {"optimizer", "optimizer step"},
	lineHostUpdate:  {"host_update", "optimizer step on the host"},
	lineTensor:      {"tensor_parallel", "exposed tensor-parallel communication"},
	lineContext:     {"context_parallel", "exposed context-parallel communication"},
	lineExpert:      {"expert_parallel", "exposed expert-parallel communication"},
	lineState:       {"sharded_state", "exposed gathers and reductions of sharded state per micro-batch"},
	linePipeline:    {"pipeline_transfer", "exposed pipeline transfers"},
	lineGradients:   {"gradient_reduction", "exposed gradient reduction"},
	lineParameters:  {"parameter_gather", "exposed parameter gather"},
	lineSmall:       {"small_collectives", "gradient norm and other small collectives"},
	lineBubble:      {"bubble", "pipeline bubble"},
	lineStraggler:   {"straggler", "waiting for the slowest rank"},
}

// exposed reports whether a line is communication on the critical path.
func (i line) exposed() bool { return i >= lineTensor && i <= lineSmall }

// costs is a breakdown in seconds.
type costs [lines]units.Seconds

// sum is the total.
func (c *costs) sum() units.Seconds {
	var t units.Seconds
	for _, s := range c {
		t += s
	}
	return t
}

// add adds n times another breakdown.
func (c *costs) add(n units.Seconds, o *costs) {
	for i := range c {
		c[i] += n * o[i]
	}
}

// exposed sums the communication lines.
func (c *costs) exposed() units.Seconds {
	var t units.Seconds
	for i := lineTensor; i <= lineSmall; i++ {
		t += c[i]
	}
	return t
}

// repeat adds a forward pass that is recomputed: its communication on the lines
// where it stands.
func (c *costs) repeat(forward *costs) {
	for i, t := range forward {
		if line(i).exposed() {
			c[i] += t
		} else {
			c[lineRecompute] += t
		}
	}
}

// collectiveKind is one kind of collective over one group.
type collectiveKind uint8

// The kinds of collectives, in the order of the plan.
const (
	collectiveTensorGather collectiveKind = iota
	collectiveTensorScatter
	collectiveTensorReduce
	collectiveContextRing
	collectiveContextGather
	collectiveContextExchange
	collectiveExpertExchange
	collectiveExpertGather
	collectiveExpertTensorGather
	collectiveExpertTensorScatter
	collectiveShardGather
	collectiveShardReduce
	collectiveShardAllReduce
	collectiveReplicaReduce
	collectiveExpertShardGather
	collectiveExpertShardReduce
	collectiveExpertReplicaReduce
	collectivePipeline
	collectiveEmbedding
	collectiveNorm
	collectiveAmax
	collectiveKinds
)

// collectiveNames gives each kind of collective its group and collective in the plan.
var collectiveNames = [collectiveKinds]struct{ group, collective string }{
	collectiveTensorGather:        {"tensor_parallel", "all_gather"},
	collectiveTensorScatter:       {"tensor_parallel", "reduce_scatter"},
	collectiveTensorReduce:        {"tensor_parallel", "all_reduce"},
	collectiveContextRing:         {"context_parallel", "point_to_point"},
	collectiveContextGather:       {"context_parallel", "all_gather"},
	collectiveContextExchange:     {"context_parallel", "all_to_all"},
	collectiveExpertExchange:      {"expert_parallel", "all_to_all"},
	collectiveExpertGather:        {"expert_parallel", "all_gather"},
	collectiveExpertTensorGather:  {"expert_tensor_parallel", "all_gather"},
	collectiveExpertTensorScatter: {"expert_tensor_parallel", "reduce_scatter"},
	collectiveShardGather:         {"data_parallel_shard", "all_gather"},
	collectiveShardReduce:         {"data_parallel_shard", "reduce_scatter"},
	collectiveShardAllReduce:      {"data_parallel_shard", "all_reduce"},
	collectiveReplicaReduce:       {"data_parallel_replicate", "all_reduce"},
	collectiveExpertShardGather:   {"expert_data_parallel", "all_gather"},
	collectiveExpertShardReduce:   {"expert_data_parallel", "reduce_scatter"},
	collectiveExpertReplicaReduce: {"expert_data_parallel", "all_reduce"},
	collectivePipeline:            {"pipeline_parallel", "point_to_point"},
	collectiveEmbedding:           {"embedding", "all_reduce"},
	collectiveNorm:                {"world", "all_reduce"},
	collectiveAmax:                {"amax", "all_reduce"},
}

// traffic is what a kind of collective carries.
type traffic struct {
	bytes            units.Bytes
	seconds, exposed units.Seconds
	calls            int
	pieces           bool // in calls of a number that is not known: buckets
}

// known is the number of calls, zero where it is not known.
func (t *traffic) known() int {
	if t.pieces {
		return 0
	}
	return t.calls
}

// collectives is the traffic of all kinds.
type collectives [collectiveKinds]traffic

// put adds one communication.
func (t *collectives) put(c collectiveKind, bytes units.Bytes, seconds, exposed units.Seconds) {
	t.repeated(c, 1, bytes, seconds, exposed)
}

// repeated adds some calls, with the bytes and times of all.
func (t *collectives) repeated(c collectiveKind, calls int, bytes units.Bytes, seconds, exposed units.Seconds) {
	t[c].bytes += bytes
	t[c].seconds += seconds
	t[c].exposed += exposed
	t[c].calls += calls
}

// bulk adds what a framework cuts into buckets, of which none is timed alone.
func (t *collectives) bulk(c collectiveKind, bytes units.Bytes, seconds units.Seconds) {
	t.repeated(c, 0, bytes, seconds, 0)
	t[c].pieces = true
}

// add adds n times as much.
func (t *collectives) add(n int, o *collectives) {
	for i := range t {
		t[i].bytes += units.Bytes(n) * o[i].bytes
		t[i].seconds += units.Seconds(n) * o[i].seconds
		t[i].exposed += units.Seconds(n) * o[i].exposed
		t[i].calls += n * o[i].calls
		t[i].pieces = t[i].pieces || o[i].pieces
	}
}
