package runtime

import "github.com/ndc-dev/ndc/compiler/plan"

// Never is a zero_stage that no layout has.
const Never = 4

// Unit is what an engine gathers and reduces at once.
type Unit uint8

// The units.
const (
	// Rank: all that a rank holds, bucket by bucket, once per step. Parameters and
	// gradients have buffers of their own, whole on every rank.
	Rank Unit = iota
	// Block: one block of the model after the other, the next one ahead of time.
	// Shards of the parameters are in the compute type beside the optimizer's in fp32.
	Block
	// StoredBlock: the same, of shards in fp32 that are the only ones.
	StoredBlock
	// Bucket: tensors one by one, in buffers of the sizes of [Buckets].
	Bucket
)

// Sharding is what of the state of training is cut over the ranks that share it,
// from which zero_stage on, and what of it is communicated with every
// micro-batch.
type Sharding struct {
	Unit Unit
	// Optimizer, Gradients and Parameters are the least zero_stage at which the
	// optimizer's state, the gradients that wait for it and the parameters that
	// wait for use are cut; [Never] where they are whole in every layout.
	Optimizer, Gradients, Parameters int
	// GatherForward, GatherBackward and Reduce are the least zero_stage at which
	// every micro-batch gathers parameters for its forward and for its backward
	// pass and reduces gradients; below it that happens once per step.
	GatherForward, GatherBackward, Reduce Stage
	// MakesGradients says that gradients come into being with the first backward
	// pass of a step and are gone at its end; otherwise they have memory of their own.
	MakesGradients bool
	// LeavesGathered says that the backward pass of a chunk of a pipeline leaves its
	// parameters gathered until the chunk runs forward again.
	LeavesGathered bool
	// ReducesFP32 says that the whole gradients of a block, or of a stage of a
	// pipeline, are copied to fp32 on the way into their reduction.
	ReducesFP32 bool
	// AllReduces says that, while parameters are whole, gradients are all-reduced
	// of which every rank then keeps its part: twice the volume of a
	// reduce-scatter.
	AllReduces bool
	// ReplicasOnce says that gradients which are reduced with every micro-batch are
	// added up over the replicas with the last one alone.
	ReplicasOnce bool
	// ClearsGradients says that every step clears the whole buffer of gradients.
	ClearsGradients bool
	// CachesQuantised says that low-precision copies of all weights of a stage are
	// kept from one micro-batch to the next, instead of those of the block that runs.
	CachesQuantised bool
	// GathersMXFP8Whole says that parameters in mxfp8 are gathered in the base type and
	// quantised where they arrive.
	GathersMXFP8Whole bool
	// SavesInParts says that each of the ranks that hold a parameter whole writes a
	// part of the checkpoint; otherwise one writes all.
	SavesInParts bool
	// SavesWeights is the zero_stage below which a checkpoint holds weights of 16 bits
	// beside the fp32 masters of the optimizer; from it on masters alone.
	SavesWeights int
}

// Stage is the least zero_stage at which something is so.
type Stage struct {
	Alone     int // without pipeline parallelism
	Pipelined int // with it
}

// At is the stage whatever the pipeline.
func At(zeroStage int) Stage { return Stage{zeroStage, zeroStage} }

// PerMicroBatch says what is communicated with every micro-batch instead of once
// per step.
type PerMicroBatch struct{ GatherForward, GatherBackward, Reduce bool }

// PerMicroBatch is what a layout communicates with every micro-batch.
func (s *Sharding) PerMicroBatch(l *plan.Layout) PerMicroBatch {
	at := func(from Stage) bool {
		if l.PipelineParallel > 1 {
			return l.ZeroStage >= from.Pipelined
		}
		return l.ZeroStage >= from.Alone
	}
	return PerMicroBatch{GatherForward: at(s.GatherForward), GatherBackward: at(s.GatherBackward), Reduce: at(s.Reduce)}
}

// ShardingOf is the policy that execution options choose.
func (r *Runtime) ShardingOf(x *plan.Execution) *Sharding {
	if x.FullySharded {
		return &r.FullySharded
	}
	return &r.Sharding
}

// Accumulates reports whether GEMMs of weight gradients add to those that are reduced.
// What is sharded layer by layer has no whole buffer for them to add to.
func (r *Runtime) Accumulates(x *plan.Execution) bool {
	return r.Layers.AccumulatesWeightGradients && !x.FullySharded
}

// Buckets are sizes of communication buffers in elements. What is emitted and
// what is predicted must agree, so the backend states them once, here; zero
// where the engine has none.
type Buckets struct {
	Reduce int64 // reduce_bucket_size: gradients that are reduced at once
	// Unhidden is the last bucket of gradients that are reduced once per step, and
	// the first of parameters that are gathered then: nothing hides them.
	Unhidden             int64
	UnhiddenPerRank      int64 // it has at least so many elements for each data-parallel rank
	AllGather            int64 // allgather_bucket_size: updated parameters that are gathered at once
	Prefetch             int64 // stage3_prefetch_bucket_size: parameters that are gathered ahead
	MaxLiveParameters    int64 // stage3_max_live_parameters: those that may be gathered
	PersistenceThreshold int64 // stage3_param_persistence_threshold: smaller tensors stay whole
	SubGroup             int64 // sub_group_size of the optimizer step
	ReturnsFP32          bool  // what an offloaded optimizer updated comes to the GPU in fp32, below stage 3
}
