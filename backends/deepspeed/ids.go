package deepspeed

import "github.com/ndc-dev/ndc/diag"

// The diagnostics of this package, and the reasons for which it rejects
// layouts.
const (
	// UnknownVersion: the job names no supported DeepSpeed release.
	UnknownVersion diag.ID = "deepspeed-unknown-version"
	// UnsupportedModel: transformers cannot build the model as specified.
	UnsupportedModel diag.ID = "deepspeed-unsupported-model"
	// UnsupportedPrecision: DeepSpeed trains in bf16, fp16 and fp32.
	UnsupportedPrecision diag.ID = "deepspeed-unsupported-precision"
	// UnsupportedOptimizer: the release has no such optimizer.
	UnsupportedOptimizer diag.ID = "deepspeed-unsupported-optimizer"
	// UnsupportedTraining: a training argument that the emitted program cannot
	// honour.
	UnsupportedTraining diag.ID = "deepspeed-unsupported-training"
	// UnsupportedExecution: an execution option that DeepSpeed or the emitted
	// program does not have.
	UnsupportedExecution diag.ID = "deepspeed-unsupported-execution"
	// UnsupportedLayout: a layout axis pinned to what DeepSpeed does not have.
	UnsupportedLayout diag.ID = "deepspeed-unsupported-layout"
	// UnknownOption: an extra argument names no key of the release's
	// configuration, or a value that the key cannot have.
	UnknownOption diag.ID = "deepspeed-unknown-option"
	// PlannedOption: an extra argument sets a key that an argument of the job
	// sets.
	PlannedOption diag.ID = "deepspeed-planned-option"
	// UnplannedOption: with an extra argument the run would not be the one that
	// was planned.
	UnplannedOption diag.ID = "deepspeed-unplanned-option"
	// UncountedOption warns that the plan does not count what an extra argument
	// changes.
	UncountedOption diag.ID = "deepspeed-uncounted-option"
	// RouterPrecision is a warning: transformers computes the router in
	// another precision than specified.
	RouterPrecision diag.ID = "deepspeed-router-precision"

	// ReasonZeroDegree: ZeRO shards over data_parallel_shard, plain data
	// parallelism replicates.
	ReasonZeroDegree diag.ID = "deepspeed-zero-degree"
	// ReasonReplicateShard: sharding within replicas is MiCS, stage 3, up to
	// 0.19.6.
	ReasonReplicateShard diag.ID = "deepspeed-replicate-shard"
	// ReasonMiCSCombination: MiCS stands alone.
	ReasonMiCSCombination diag.ID = "deepspeed-mics-combination"
	// ReasonTensorContext: AutoTP and Ulysses exclude one another.
	ReasonTensorContext diag.ID = "deepspeed-tensor-context"
	// ReasonTensorModel: AutoTP does not cut this kind of model.
	ReasonTensorModel diag.ID = "deepspeed-tensor-model"
	// ReasonTensorDivides: AutoTP cuts heads and MLP evenly.
	ReasonTensorDivides diag.ID = "deepspeed-tensor-divides"
	// ReasonTensorZero3: AutoTP with ZeRO-3 since 0.19.4.
	ReasonTensorZero3 diag.ID = "deepspeed-tensor-zero3"
	// ReasonTensorNorms: AutoTP with norms of queries and keys since 0.19.6.
	ReasonTensorNorms diag.ID = "deepspeed-tensor-norms"
	// ReasonTensorClipping: AutoTP without ZeRO clips by a wrong norm, but for Adam.
	ReasonTensorClipping diag.ID = "deepspeed-tensor-clipping"
	// ReasonUlyssesDivides: Ulysses cuts heads and sequence evenly.
	ReasonUlyssesDivides diag.ID = "deepspeed-ulysses-divides"
	// ReasonUlyssesZero: the emitted Ulysses needs a ZeRO stage.
	ReasonUlyssesZero diag.ID = "deepspeed-ulysses-zero"
	// ReasonUlyssesBF16: Ulysses does not go with the optimizer of bf16 alone.
	ReasonUlyssesBF16 diag.ID = "deepspeed-ulysses-bf16"
	// ReasonUlyssesMask: Ulysses takes no attention mask.
	ReasonUlyssesMask diag.ID = "deepspeed-ulysses-mask"
	// ReasonExpertDivides: AutoEP cuts the experts evenly.
	ReasonExpertDivides diag.ID = "deepspeed-expert-divides"
	// ReasonExpertZero3: AutoEP with ZeRO-3 since 0.19.3.
	ReasonExpertZero3 diag.ID = "deepspeed-expert-zero3"
	// ReasonExpertCombination: AutoEP stands beside data parallelism only.
	ReasonExpertCombination diag.ID = "deepspeed-expert-combination"
	// ReasonExpertTensor: experts are not cut inside.
	ReasonExpertTensor diag.ID = "deepspeed-expert-tensor"
	// ReasonHostStart: building the model does not fit host memory.
	ReasonHostStart diag.ID = "deepspeed-host-start"
	// ReasonGPUStart: building the model does not fit the GPU.
	ReasonGPUStart diag.ID = "deepspeed-gpu-start"
	// ReasonBF16AsFP16: some releases take bf16 for fp16 under stages 0 and 1.
	ReasonBF16AsFP16 diag.ID = "deepspeed-bf16-as-fp16"
	// ReasonZero2Accumulation: some releases lose gradients under stage 2.
	ReasonZero2Accumulation diag.ID = "deepspeed-zero2-accumulation"
	// ReasonHPZ: hpZ is a second copy for ZeRO-3 alone.
	ReasonHPZ diag.ID = "deepspeed-hpz"
	// ReasonOffload: what may be offloaded at which stage.
	ReasonOffload diag.ID = "deepspeed-offload"
	// ReasonOverlapTensor: tensor-parallel overlap without tensor parallelism.
	ReasonOverlapTensor diag.ID = "deepspeed-overlap-tensor"
	// ReasonOverlapGradients: reduction behind the backward pass where DeepSpeed has it.
	ReasonOverlapGradients diag.ID = "deepspeed-overlap-gradients"
	// ReasonTensorBias: AutoTP with biases since 0.17.0.
	ReasonTensorBias diag.ID = "deepspeed-tensor-bias"
	// ReasonUnaskedGradients: gradients below fp32 are for who asks.
	ReasonUnaskedGradients diag.ID = "deepspeed-unasked-gradients"
	// ReasonGradientDType: which gradient types a stage can accumulate.
	ReasonGradientDType diag.ID = "deepspeed-gradient-dtype"
	// ReasonSequenceParallel: AutoTP has no sequence parallelism.
	ReasonSequenceParallel diag.ID = "deepspeed-sequence-parallel"
	// ReasonPipeline: no pipeline parallelism.
	ReasonPipeline diag.ID = "deepspeed-pipeline"
	// ReasonAttention: the kernel cannot compute this model's attention.
	ReasonAttention diag.ID = "deepspeed-attention"
)
