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
	// InvalidOption: extra_args or an emitted option is not in the table of the release.
	InvalidOption diag.ID = "torchtitan-invalid-option"
)

// The legality rules of this package; their reasons are in rules.go.
const (
	ruleHeads              diag.ID = "torchtitan-heads"
	ruleKVHeads            diag.ID = "torchtitan-kv-heads"
	ruleTensorShards       diag.ID = "torchtitan-tensor-shards"
	ruleSequence           diag.ID = "torchtitan-sequence-length"
	rulePipelineTied       diag.ID = "torchtitan-pipeline-tied-embeddings"
	rulePipelineBatches    diag.ID = "torchtitan-pipeline-micro-batches"
	rulePipelineRounds     diag.ID = "torchtitan-interleaved-rounds"
	rulePipelineChunks     diag.ID = "torchtitan-schedule-chunks"
	rulePipelineMTP        diag.ID = "torchtitan-pipeline-mtp"
	rulePipelineCompile    diag.ID = "torchtitan-zero-bubble-compile"
	rulePipelineGraphs     diag.ID = "torchtitan-cuda-graphs-pipeline"
	rulePipelinePositions  diag.ID = "torchtitan-positions-pipeline"
	ruleExpertGraphs       diag.ID = "torchtitan-cuda-graphs-experts"
	ruleContextMask        diag.ID = "torchtitan-context-document-mask"
	ruleZeroStage          diag.ID = "torchtitan-zero-stage"
	ruleReshard            diag.ID = "torchtitan-reshard-after-forward"
	ruleReplicateOnly      diag.ID = "torchtitan-replicate-only"
	ruleUnsharded          diag.ID = "torchtitan-unsharded-precision"
	ruleExperts            diag.ID = "torchtitan-experts"
	ruleExpertRanks        diag.ID = "torchtitan-expert-ranks"
	ruleExpertTensor       diag.ID = "torchtitan-expert-tensor"
	ruleDispatcher         diag.ID = "torchtitan-dispatcher"
	ruleAsyncTensor        diag.ID = "torchtitan-async-tensor-parallel"
	ruleLossChunks         diag.ID = "torchtitan-loss-chunks"
	ruleOffload            diag.ID = "torchtitan-offload"
	ruleLowPrecisionTensor diag.ID = "torchtitan-mxfp8-tensor-parallel"
)
