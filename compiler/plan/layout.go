package plan

import (
	"encoding/json"
	"fmt"
)

// Layout is how one training step is spread over the GPUs, with one meaning
// on every backend (docs/layout.md). It is a flat value: the search copies and
// evaluates millions of them; the slices are shared and never written.
type Layout struct {
	TensorParallel        int       `json:"tensor_parallel"`
	SequenceParallel      bool      `json:"sequence_parallel"`
	ContextParallel       int       `json:"context_parallel"`
	PipelineParallel      int       `json:"pipeline_parallel"`
	VirtualPipeline       int       `json:"virtual_pipeline"` // model chunks per rank; 1: none
	PipelineSchedule      Schedule  `json:"pipeline_schedule"`
	StageLayers           []int     `json:"stage_layers"` // decoder layers per chunk in pipeline order, length pipeline × virtual; chunk c is on rank c mod pipeline, of zbv and dualpipev the second half in reverse
	ExpertParallel        int       `json:"expert_parallel"`
	ExpertTensorParallel  int       `json:"expert_tensor_parallel"`
	DataParallelReplicate int       `json:"data_parallel_replicate"`
	DataParallelShard     int       `json:"data_parallel_shard"` // context parallelism not counted
	ZeroStage             int       `json:"zero_stage"`
	MicroBatchSize        int       `json:"micro_batch_size"`
	MicroBatches          int       `json:"micro_batches"`
	Recompute             Recompute `json:"recompute"`
	RecomputeModules      Modules   `json:"recompute_modules"`
	RecomputeMethod       string    `json:"recompute_method"` // uniform, block or "" when recompute is not full
	RecomputeLayers       int       `json:"recompute_layers"` // layers per chunk (block) or per group (uniform); 0 when not full
}

// MarshalJSON writes a list without entries as [], so that readers never meet
// null.
func (l Layout) MarshalJSON() ([]byte, error) {
	type plain Layout
	if l.StageLayers == nil {
		l.StageLayers = []int{}
	}
	return json.Marshal(plain(l))
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

// Recompute is how much of the forward pass is run again in the backward pass.
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
	Attention              string `json:"attention"` // flash, fused, unfused
	OverlapGradientReduce  bool   `json:"overlap_gradient_reduce"`
	OverlapParameterGather bool   `json:"overlap_parameter_gather"`
	OverlapTensorParallel  bool   `json:"overlap_tensor_parallel"`
	OverlapExpertParallel  bool   `json:"overlap_expert_parallel"`
	GradientDType          string `json:"gradient_dtype"`        // accumulation and reduction: fp32, bf16
	OptimizerStateDType    string `json:"optimizer_state_dtype"` // moments: fp32, bf16, fp8
	CrossEntropy           string `json:"cross_entropy"`         // unfused, fused
	LossChunks             int    `json:"loss_chunks"`           // 1: not chunked
	CUDAGraphs             string `json:"cuda_graphs"`           // none, layer, full
	Compile                bool   `json:"compile"`
	MoEDispatcher          string `json:"moe_dispatcher"`        // allgather, alltoall, deepep, hybridep
	ContextParallelType    string `json:"context_parallel_type"` // ring, all_gather, ulysses, hierarchical
	ReshardAfterForward    bool   `json:"reshard_after_forward"`
	FullySharded           bool   `json:"fully_sharded"`      // Megatron-FSDP
	ZeroHPZPartition       int    `json:"zero_hpz_partition"` // ranks; 1: none
	OffloadOptimizer       bool   `json:"offload_optimizer"`
	OffloadParameters      bool   `json:"offload_parameters"`
	OffloadActivations     bool   `json:"offload_activations"`
}

// SendsTokens reports whether a dispatcher has the kernels of DeepEP or
// HybridEP, which send a token once instead of its top-k copies.
func SendsTokens(dispatcher string) bool { return dispatcher == "deepep" || dispatcher == "hybridep" }
