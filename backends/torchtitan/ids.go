package torchtitan

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package.
const (
	// UnknownVersion: the backend block names a release that ndc does not emit for.
	UnknownVersion diag.ID = "torchtitan-unknown-version"
	// UnsupportedModel: the release has no model with this part.
	UnsupportedModel diag.ID = "torchtitan-unsupported-model"
	// UnsupportedTraining: a training argument that the release cannot honour.
	UnsupportedTraining diag.ID = "torchtitan-unsupported-training"
	// UnsupportedExecution: an execution option that the release does not have.
	UnsupportedExecution diag.ID = "torchtitan-unsupported-execution"
	// UnsupportedPrecision: a precision that the release or the GPU lacks.
	UnsupportedPrecision diag.ID = "torchtitan-unsupported-precision"
	// UnsupportedData: a data argument that the emitted reader cannot honour.
	UnsupportedData diag.ID = "torchtitan-unsupported-data"
	// UnsupportedCheckpoint: a start or checkpoint argument without a counterpart.
	UnsupportedCheckpoint diag.ID = "torchtitan-unsupported-checkpoint"
	// UnsupportedSchedule: a learning-rate schedule that the framework cannot follow exactly.
	UnsupportedSchedule diag.ID = "torchtitan-unsupported-schedule"
	// Differs warns of a value that matters for convergence and that
	// TorchTitan handles in another way than the other backends.
	Differs diag.ID = "torchtitan-differs"
	// NeedsPackage warns of a package that what the job asks for imports, and that
	// images of the framework need not have.
	NeedsPackage diag.ID = "torchtitan-needs-package"
	// InvalidOption: extra_args or an emitted option is not in the table of the release.
	InvalidOption diag.ID = "torchtitan-invalid-option"
	// RepeatedOption: extra_args sets an option that an argument of the job sets.
	RepeatedOption diag.ID = "torchtitan-repeated-option"
	// UnplannedOption: with an extra argument the run would not be the one that
	// was planned.
	UnplannedOption diag.ID = "torchtitan-unplanned-option"
	// UncountedOption warns that the plan does not count what an extra argument
	// changes.
	UncountedOption diag.ID = "torchtitan-uncounted-option"
)

// The legality rules of this package; their reasons are in rules.go.
const (
	// ruleHeads: the attention heads do not divide by tensor_parallel.
	ruleHeads diag.ID = "torchtitan-heads"
	// ruleKVHeads: the key-value heads do not divide by tensor_parallel.
	ruleKVHeads diag.ID = "torchtitan-kv-heads"
	// ruleTensorShards: tensor_parallel would split a matrix unevenly.
	ruleTensorShards diag.ID = "torchtitan-tensor-shards"
	// ruleSequence: the sequence does not divide as tensor and context parallelism split it.
	ruleSequence diag.ID = "torchtitan-sequence-length"
	// rulePipelineTied: tied embeddings cannot be on two pipeline stages.
	rulePipelineTied diag.ID = "torchtitan-pipeline-tied-embeddings"
	// rulePipelineBatches: fewer micro-batches than the pipeline schedule needs.
	rulePipelineBatches diag.ID = "torchtitan-pipeline-micro-batches"
	// rulePipelineRounds: micro-batches do not divide into rounds of the interleaved schedule.
	rulePipelineRounds diag.ID = "torchtitan-interleaved-rounds"
	// rulePipelineChunks: a schedule with a number of chunks per rank that it does not have.
	rulePipelineChunks diag.ID = "torchtitan-schedule-chunks"
	// ruleEmptyStage: a pipeline stage without layers of which no optimizer is built.
	ruleEmptyStage diag.ID = "torchtitan-empty-stage"
	// ruleTensorRouter: experts beside tensor parallelism, of which each rank trains a router of its own.
	ruleTensorRouter diag.ID = "torchtitan-tensor-router"
	// ruleSplitCompile: compiled blocks under a schedule that splits backward passes.
	ruleSplitCompile diag.ID = "torchtitan-split-compile"
	// ruleSplitRecompute: recompute under a schedule that splits backward passes.
	ruleSplitRecompute diag.ID = "torchtitan-split-recompute"
	// ruleSplitReshard: parameters gathered again under a schedule that splits backward passes.
	ruleSplitReshard diag.ID = "torchtitan-split-zero-stage"
	// ruleSplitLoss: a loss in chunks under a schedule that splits backward passes.
	ruleSplitLoss diag.ID = "torchtitan-split-loss-chunks"
	// ruleSplitTracker: a loss that the tracking rank of a V-shaped schedule lacks.
	ruleSplitTracker diag.ID = "torchtitan-vee-trackers"
	// ruleSplitValidation: validation under a V-shaped schedule.
	ruleSplitValidation diag.ID = "torchtitan-vee-validation"
	// rulePipelineGraphs: CUDA graphs beside pipeline parallelism.
	rulePipelineGraphs diag.ID = "torchtitan-cuda-graphs-pipeline"
	// rulePipelinePositions: position ids do not reach later pipeline stages.
	rulePipelinePositions diag.ID = "torchtitan-positions-pipeline"
	// ruleExpertGraphs: CUDA graphs beside expert parallelism.
	ruleExpertGraphs diag.ID = "torchtitan-cuda-graphs-experts"
	// ruleContextMask: document masks beside context parallelism.
	ruleContextMask diag.ID = "torchtitan-context-document-mask"
	// ruleContextAttention: a kernel of attention that takes no mask cut by context parallelism.
	ruleContextAttention diag.ID = "torchtitan-context-attention"
	// ruleGraphsAttention: a kernel of attention whose arguments have no fixed size beside CUDA graphs.
	ruleGraphsAttention diag.ID = "torchtitan-cuda-graphs-attention"
	// ruleContextValidation: validation under context parallelism of a model whose rotations the validator does not find.
	ruleContextValidation diag.ID = "torchtitan-context-validation"
	// ruleContextTensor: context parallelism of attention that tensor parallelism has split.
	ruleContextTensor diag.ID = "torchtitan-context-tensor"
	// ruleTensorMask: document masks beside tensor parallelism.
	ruleTensorMask diag.ID = "torchtitan-tensor-document-mask"
	// ruleTensorPositions: restarting position ids beside tensor parallelism.
	ruleTensorPositions diag.ID = "torchtitan-tensor-positions"
	// ruleZeroStage: zero_stage does not agree with the sharding group.
	ruleZeroStage diag.ID = "torchtitan-zero-stage"
	// ruleReshard: reshard_after_forward does not agree with zero_stage.
	ruleReshard diag.ID = "torchtitan-reshard-after-forward"
	// ruleReplicateOnly: replicas without sharding beside other parallelism.
	ruleReplicateOnly diag.ID = "torchtitan-replicate-only"
	// ruleUnsharded: mixed precision without a sharding group.
	ruleUnsharded diag.ID = "torchtitan-unsharded-precision"
	// ruleExperts: the experts do not divide by expert_parallel.
	ruleExperts diag.ID = "torchtitan-experts"
	// ruleExpertRanks: the expert groups do not fit on the ranks that they borrow.
	ruleExpertRanks diag.ID = "torchtitan-expert-ranks"
	// ruleExpertTensor: expert_tensor_parallel is neither 1 nor what the release makes of it.
	ruleExpertTensor diag.ID = "torchtitan-expert-tensor"
	// ruleDispatcher: the dispatcher does not go with the expert mesh.
	ruleDispatcher diag.ID = "torchtitan-dispatcher"
	// ruleDeepEP: DeepEP has no kernels for so many ranks on such nodes.
	ruleDeepEP diag.ID = "torchtitan-deepep-ranks"
	// ruleAsyncTensor: overlap_tensor_parallel needs compile and tensor parallelism.
	ruleAsyncTensor diag.ID = "torchtitan-async-tensor-parallel"
	// ruleLossChunks: loss_chunks does not divide the tokens of a rank.
	ruleLossChunks diag.ID = "torchtitan-loss-chunks"
	// ruleOffload: CPU offload needs FSDP and moves parameters, gradients and optimizer together.
	ruleOffload diag.ID = "torchtitan-offload"
	// ruleLowPrecisionTensor: low precision does not go with tensor parallelism.
	ruleLowPrecisionTensor diag.ID = "torchtitan-mxfp8-tensor-parallel"
)
