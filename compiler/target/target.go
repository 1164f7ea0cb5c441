// Package target describes what one version of one framework can do and how
// it keeps its state: which layouts are legal, which execution options exist
// and which are recommended. It holds data and predicates only; each backend
// package provides its targets, and the rest of the compiler obeys them
// without knowing a framework by name.
package target

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// Engine is the family of state-keeping that package memory knows.
type Engine uint8

// The engines.
const (
	// Megatron keeps bf16 parameters and fp32 main gradients in full and
	// shards the optimizer (zero_stage 1), or uses Megatron-FSDP
	// (fully_sharded).
	Megatron Engine = iota
	// FSDP2 is torch's fully_shard: fp32 sharded parameters, gathered per
	// block in the compute precision.
	FSDP2
	// DeepSpeed is ZeRO stages 0 to 3 with its buckets.
	DeepSpeed
)

// Target is one framework version for one job.
type Target struct {
	Backend string // megatron, torchtitan, deepspeed
	Version string // as the framework spells it
	Engine  Engine

	// Torch is the torch release that this version runs on, such as "2.11".
	Torch string

	// Minor is N of Megatron's core_v0.N, whose narrow kernels still gain with
	// every release; 0 for frameworks of which that is not known.
	Minor int

	// DenseMesh and ExpertMesh give the rank order, innermost axis first.
	DenseMesh, ExpertMesh []plan.Axis

	// What the search may choose on each axis when the user left it free;
	// nil means that the axis does not exist here and stays at 1.
	Schedules            []plan.Schedule // apart from none
	ZeroStages           []int
	Recomputes           []RecomputeOption
	SequenceParallel     []bool // what tensor_parallel > 1 may go with
	ContextParallel      bool
	PipelineParallel     bool
	VirtualPipeline      bool // interleaving exists
	UnevenStages         bool // stage_layers may differ
	ExpertParallel       bool
	ExpertTensorParallel bool // etp other than 1 and tp
	Replicate            bool // data_parallel_replicate > 1 together with shard > 1 (HSDP)
	KVReplication        bool // tensor_parallel may exceed kv_heads

	// Alternatives says, for values of an argument of the layout that this
	// version lacks, who has them, in full sentences. May be nil.
	Alternatives func(argument string, values []string) string

	// Rules decide legality beyond the axes above. They are asked in order,
	// in the hot loop: they must not allocate.
	Rules []Rule

	// Resolve fills the execution options that the user left out with what is
	// recommended for this version, GPU and layout. It must not allocate.
	Resolve func(j *job.Job, l *plan.Layout) plan.Execution

	// Variants lists further execution options worth trying for fit, such as
	// offload, as changes to a resolved Execution; the search tries them alone
	// and together, where the user left their options free. None of them may need
	// more memory of the GPU. May be nil.
	Variants []Variant

	// Buckets are the sizes that this version's emitted configuration gives the
	// communication buffers; zero where the engine has none.
	Buckets Buckets

	// Layers names the implementation of the layers whose operations run kernel
	// by kernel where nothing compiles them (package estimate's
	// data/layers.json); "" where the framework's kernels are fused.
	Layers string

	// FusedQKV says that query, key and value come from one projection, which
	// decides what operator-level recompute keeps of them.
	FusedQKV bool

	// LayerRotary is the size in bytes, per position and rotary dimension, of the
	// table of rotary embeddings that every layer has of its own, and from which it
	// keeps the rows that its positions pick; 0 where all layers share one.
	LayerRotary int

	// InPlaceLoss says that the fused cross-entropy writes the gradient into the
	// logits (Transformer Engine's kernel); otherwise it keeps probabilities in
	// fp32, as Megatron's own does.
	InPlaceLoss bool

	// CompilesLoss says that the compile option covers the loss too, which then
	// makes no fp32 copies of the logits.
	CompilesLoss bool

	// EarlyStop says that recompute ends with the last tensor that the backward
	// needs (torch's non-reentrant checkpoint), so that a layer's last product
	// does not run again.
	EarlyStop bool

	// ChunksRunAgain says that each chunk of a loss runs forward again in its
	// backward pass, instead of backward at once.
	ChunksRunAgain bool

	// FusedExperts says that an expert MLP is one kernel that activates and
	// quantises between its products (Transformer Engine's operation fuser).
	FusedExperts bool

	// LowAttention says that attention computes in the job's 8-bit type.
	LowAttention bool

	// RowwiseFP8 says that precision fp8 scales by rows instead of whole tensors.
	RowwiseFP8 bool

	// OneRail says that collectives of sharded state drive one NIC of a node at
	// a time, as ZeRO-3 did when it broadcast shard by shard.
	OneRail bool

	// AllReducesShards says that zero_stage 1 and 2 all-reduce gradients of which
	// every rank then keeps its part, twice the volume of a reduce-scatter.
	AllReducesShards bool

	// WholeCombine says that every rank of a tensor group weighs the experts'
	// outputs for all tokens of the group, not for its part of them.
	WholeCombine bool
	// WholeEmbedding and WholeHead say that tensor parallelism leaves the
	// input embedding, or the output head, whole on every rank; WholeLogits that
	// every rank takes the loss over the whole vocabulary, for which the logits of
	// a head that is cut are gathered.
	WholeEmbedding, WholeHead, WholeLogits bool
	// ReducesEachColumn says that every product that tensor parallelism cuts by
	// columns reduces the gradient of its input by itself, where others reduce
	// once for all products of the same input.
	ReducesEachColumn bool
	// WholeEmbeddingGradient says that every rank of a tensor group makes the
	// gradient of the whole input embedding before it is cut.
	WholeEmbeddingGradient bool

	// KeepsReduceScatter and KeepsAllToAll say that operator-level recompute
	// keeps the outputs of these collectives.
	KeepsReduceScatter, KeepsAllToAll bool

	// PaddedVocab is the vocabulary as this version builds it for a layout.
	PaddedVocab func(m *job.Model, tensorParallel int) int
}

// Buckets are sizes of communication buffers in elements (DeepSpeed's
// zero_optimization section). What is emitted and what is predicted must agree,
// so the backend states them once, here.
type Buckets struct {
	Reduce               int64 // reduce_bucket_size
	AllGather            int64 // allgather_bucket_size
	Prefetch             int64 // stage3_prefetch_bucket_size
	MaxLiveParameters    int64 // stage3_max_live_parameters
	PersistenceThreshold int64 // stage3_param_persistence_threshold: smaller tensors stay whole
	SubGroup             int64 // sub_group_size of the optimizer step
}

// EmbeddingParts is the number of parts into which tensor parallelism cuts the
// input embedding.
func (t *Target) EmbeddingParts(tensor int) int { return parts(tensor, t.WholeEmbedding) }

// HeadParts is the number of parts into which tensor parallelism cuts the
// output head.
func (t *Target) HeadParts(tensor int) int { return parts(tensor, t.WholeHead) }

// LogitParts is the number of parts into which tensor parallelism cuts the
// logits that the loss reads.
func (t *Target) LogitParts(tensor int) int { return parts(tensor, t.WholeHead || t.WholeLogits) }

func parts(tensor int, whole bool) int {
	if whole {
		return 1
	}
	return tensor
}

// TorchBefore reports whether the target runs on a torch older than major.minor;
// false where its release is not known.
func (t *Target) TorchBefore(major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(t.Torch, "%d.%d", &a, &b); n < 2 {
		return false
	}
	return a < major || a == major && b < minor
}

// RecomputeOption is one recompute choice of a framework.
type RecomputeOption struct {
	Mode    plan.Recompute
	Modules plan.Modules // selective: what runs again
	Method  string       // full: uniform or block
	// Layers lists recompute_layers to try; for block they are shares of the
	// chunk expanded by the enumerator when nil.
	Layers []int
}

// Facts is what a rule may look at.
type Facts struct {
	Job    *job.Job
	Layout *plan.Layout
	Exec   *plan.Execution
	GPUs   int
	// Parameters is the number of parameters of the whole model; 0 when who
	// asks has not counted them.
	Parameters int64
}

// Rule is one legality rule of a framework version.
type Rule struct {
	ID     diag.ID
	Reason string // a constant sentence: why the framework refuses
	// Mesh marks a rule that looks only at the job and at the axes of the
	// meshes (every parallel degree, sequence_parallel and zero_stage). It is
	// then asked once for all layouts that share them.
	Mesh   bool
	Breaks func(f *Facts) bool
}

// Variant is a named change of execution options.
type Variant struct {
	Name    string
	Options []string // the execution arguments it changes, to respect the user's choice
	Applies func(f *Facts) bool
	Apply   func(x *plan.Execution)
}
