package plan

import "fmt"

// Layout is how one training step is spread over the GPUs, with one meaning
// on every backend (docs/layout.md). It is a flat value: the search copies and
// evaluates millions of them; the slices are shared and never written.
type Layout struct {
	TensorParallel        int
	SequenceParallel      bool
	ContextParallel       int
	PipelineParallel      int
	VirtualPipeline       int // model chunks per rank; 1: none
	PipelineSchedule      Schedule
	StageLayers           []int // decoder layers per chunk in pipeline order, length pipeline × virtual; chunk c is on rank c mod pipeline, in a V the second half in reverse
	ExpertParallel        int
	ExpertTensorParallel  int
	DataParallelReplicate int
	DataParallelShard     int // context parallelism not counted
	ZeroStage             int
	MicroBatchSize        int
	MicroBatches          int
	Recompute             Recompute
	RecomputeModules      Modules
	RecomputeMethod       string // uniform, block or "" when recompute is not full
	RecomputeLayers       int    // layers per chunk (block) or per group (uniform); 0 when not full
}

// DataParallel is the number of model replicas that see different data:
// replicate × shard.
func (l *Layout) DataParallel() int { return l.DataParallelReplicate * l.DataParallelShard }

// GPUs is the number of ranks that the layout occupies.
func (l *Layout) GPUs() int {
	return l.TensorParallel * l.ContextParallel * l.PipelineParallel * l.DataParallel()
}

// ExpertDataParallel is the number of replicas of each expert shard:
// tp·cp·dp over ep·etp.
func (l *Layout) ExpertDataParallel() int {
	return l.TensorParallel * l.ContextParallel * l.DataParallel() / (l.ExpertParallel * l.ExpertTensorParallel)
}

// Chunks is the number of model chunks of the whole pipeline.
func (l *Layout) Chunks() int { return l.PipelineParallel * l.VirtualPipeline }

// Schedule is a pipeline schedule.
type Schedule uint8

// The pipeline schedules of the language.
const (
	ScheduleNone Schedule = iota // one pipeline rank
	ScheduleGPipe
	Schedule1F1B
	ScheduleInterleaved1F1B
	ScheduleZBH1
	ScheduleZBH2
	ScheduleZBV
	ScheduleDualPipe
	ScheduleDualPipeV
)

var scheduleNames = [...]string{"none", "gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv", "dualpipe", "dualpipev"}

// String returns the name used in the language.
func (s Schedule) String() string { return scheduleNames[s] }

// MarshalText writes the name used in the language.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name used in the language.
func (s *Schedule) UnmarshalText(b []byte) error {
	v, ok := ParseSchedule(string(b))
	if !ok {
		return fmt.Errorf("unknown pipeline schedule %q", b)
	}
	*s = v
	return nil
}

// ParseSchedule finds a schedule by its name in the language.
func ParseSchedule(name string) (Schedule, bool) {
	for i, n := range scheduleNames {
		if n == name {
			return Schedule(i), true
		}
	}
	return 0, false
}

// Recompute is how much of the forward pass is recomputed in the backward pass.
type Recompute uint8

// The recompute modes of the language.
const (
	RecomputeNone Recompute = iota
	RecomputeSelective
	RecomputeFull
)

var recomputeNames = [...]string{"none", "selective", "full"}

// String returns the name used in the language.
func (r Recompute) String() string { return recomputeNames[r] }

// MarshalText writes the name used in the language.
func (r Recompute) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name used in the language.
func (r *Recompute) UnmarshalText(b []byte) error {
	for i, n := range recomputeNames {
		if n == string(b) {
			*r = Recompute(i)
			return nil
		}
	}
	return fmt.Errorf("unknown recompute mode %q", b)
}

// Execution holds the resolved options of how the framework runs the layout.
// It is flat and comparable. Empty strings mean that the option does not apply.
type Execution struct {
	Attention              string // flash, fused, unfused
	OverlapGradientReduce  bool
	OverlapParameterGather bool
	OverlapOptimizerGather bool // the first chunk's, behind the update of the others
	OverlapTensorParallel  bool
	OverlapExpertParallel  bool
	GradientDType          string // accumulation and reduction: fp32, bf16
	OptimizerStateDType    string // moments: fp32, bf16, fp8
	CrossEntropy           string // unfused, fused
	LossChunks             int    // 1: not chunked
	CUDAGraphs             string // none, layer, full, or some of GraphModules with + between them
	Compile                bool
	MoEDispatcher          string // allgather, alltoall, deepep, hybridep
	ContextParallelType    string // ring, all_gather, ulysses, hierarchical
	ReshardAfterForward    bool
	FullySharded           bool   // by the framework's own FSDP
	ShardBuffers           string // dynamic, double, registered; "" unless FullySharded
	SHARP                  string // what the network's switches add up: none, data_parallel, replicas
	ZeroHPZPartition       int    // ranks; 1: none
	OffloadOptimizer       bool
	OffloadParameters      bool
	OffloadActivations     bool
}

// GradientBytes is the size of an element of an accumulated gradient.
func (x *Execution) GradientBytes() float64 { return elementBytes(x.GradientDType) }

// MomentBytes is the size of one moment of one parameter in the optimizer.
func (x *Execution) MomentBytes() float64 { return elementBytes(x.OptimizerStateDType) }

// elementBytes is the size of an element of a type by its name in the language; fp32
// where none is said.
func elementBytes(dtype string) float64 {
	switch dtype {
	case "bf16", "fp16":
		return 2
	case "fp8":
		return 1
	}
	return 4
}

// KeepsShardBuffers reports whether buffers for shards stay from one block to the next.
func (x *Execution) KeepsShardBuffers() bool {
	return x.ShardBuffers == "double" || x.ShardBuffers == "registered"
}

// SendsTokens reports whether a dispatcher has the kernels of DeepEP or
// HybridEP, which send a token once instead of its top-k copies.
func SendsTokens(dispatcher string) bool { return dispatcher == "deepep" || dispatcher == "hybridep" }
