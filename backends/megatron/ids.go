package megatron

import "github.com/ndc-dev/ndc/diag"

// Diagnostics about what the job asks of a release.
const (
	// UnknownVersion: backend.version is not a supported release.
	UnknownVersion diag.ID = "megatron-unknown-version"
	// UnsupportedModel: the release cannot build a part of the model.
	UnsupportedModel diag.ID = "megatron-unsupported-model"
	// UnsupportedPrecision: the release or the GPU lacks the precision or recipe.
	UnsupportedPrecision diag.ID = "megatron-unsupported-precision"
	// UnsupportedExecution: the release lacks an execution option.
	UnsupportedExecution diag.ID = "megatron-unsupported-execution"
	// UnsupportedOptimizer: the release lacks the optimizer or the schedule.
	UnsupportedOptimizer diag.ID = "megatron-unsupported-optimizer"
	// UnsupportedSeed: the release refuses the seed.
	UnsupportedSeed diag.ID = "megatron-unsupported-seed"
	// UnsupportedData: Megatron-LM has no reader for the data, or cannot treat
	// documents as asked.
	UnsupportedData diag.ID = "megatron-unsupported-data"
	// UnsupportedStart: the run cannot start from these weights.
	UnsupportedStart diag.ID = "megatron-unsupported-start"
	// UnsupportedCheckpoint: the release cannot save as asked.
	UnsupportedCheckpoint diag.ID = "megatron-unsupported-checkpoint"
	// UnsupportedTimeout: the release has no timeout of this length.
	UnsupportedTimeout diag.ID = "megatron-unsupported-timeout"
	// UnsupportedLogging: a report that the version cannot make.
	UnsupportedLogging diag.ID = "megatron-unsupported-logging"
	// UnknownRecomputeModule: recompute_modules names a module that the
	// release cannot recompute.
	UnknownRecomputeModule diag.ID = "megatron-unknown-recompute-module"
	// InvalidExtraArgument: extra_args fails the release's option table.
	InvalidExtraArgument diag.ID = "megatron-invalid-extra-argument"
	// RepeatedExtraArgument: extra_args sets an option that an argument of the
	// job sets.
	RepeatedExtraArgument diag.ID = "megatron-repeated-extra-argument"
	// UnplannedExtraArgument: with an extra argument the run would not be the
	// one that was planned.
	UnplannedExtraArgument diag.ID = "megatron-unplanned-extra-argument"
	// UncountedExtraArgument (warning): the plan does not count what an extra
	// argument changes.
	UncountedExtraArgument diag.ID = "megatron-uncounted-extra-argument"
	// ContradictingEnvironment: an environment variable contradicts the layout.
	ContradictingEnvironment diag.ID = "megatron-contradicting-environment"
	// ApproximatedModel (warning): the release builds the model with a small,
	// named difference.
	ApproximatedModel diag.ID = "megatron-approximated-model"
	// NeedsPackage (warning): the run imports a library that images of the
	// release may lack.
	NeedsPackage diag.ID = "megatron-needs-package"
)

// Legality rules, as they are counted in plan.Search.Rejected.
const (
	// RuleHeads: attention heads are not divisible by tensor_parallel.
	RuleHeads diag.ID = "megatron-heads-not-divisible"
	// RuleKVHeads: key-value heads and tensor_parallel do not divide.
	RuleKVHeads diag.ID = "megatron-kv-heads-not-divisible"
	// RuleFFN: a feed-forward width is not divisible by its tensor group.
	RuleFFN diag.ID = "megatron-ffn-not-divisible"
	// RuleVocab: a given padded_vocab_size is not divisible by tensor_parallel.
	RuleVocab diag.ID = "megatron-vocab-not-divisible"
	// RuleSequenceParallelAlone: sequence parallelism without tensor parallelism.
	RuleSequenceParallelAlone diag.ID = "megatron-sequence-parallel-alone"
	// RuleSequenceParallelLength: tokens per rank are not divisible by tensor_parallel.
	RuleSequenceParallelLength diag.ID = "megatron-sequence-parallel-length"
	// RuleExpertsNeedSequenceParallel: experts with tensor_parallel need sequence_parallel.
	RuleExpertsNeedSequenceParallel diag.ID = "megatron-experts-need-sequence-parallel"
	// RuleContextLength: the sequence is not divisible by 2·context_parallel.
	RuleContextLength diag.ID = "megatron-context-length"
	// RuleContextHeads: heads per tensor rank are not divisible for all-to-all context parallelism.
	RuleContextHeads diag.ID = "megatron-context-heads"
	// RuleHierarchicalContext: the context group has no two levels.
	RuleHierarchicalContext diag.ID = "megatron-hierarchical-context"
	// RuleContextMask: document masks beside context parallelism.
	RuleContextMask diag.ID = "megatron-context-document-mask"
	// RuleContextKernel: the attention kernel lacks the kind of context parallelism.
	RuleContextKernel diag.ID = "megatron-context-kernel"
	// RuleNoExperts: expert axes on a dense model.
	RuleNoExperts diag.ID = "megatron-no-experts"
	// RuleExperts: experts are not divisible by expert_parallel.
	RuleExperts diag.ID = "megatron-experts-not-divisible"
	// RuleExpertMesh: the expert mesh does not fill the ranks of a stage.
	RuleExpertMesh diag.ID = "megatron-expert-mesh"
	// RuleExpertGradients: gradients of experts are reduced over the group of the dense layers.
	RuleExpertGradients diag.ID = "megatron-expert-gradients"
	// RuleExpertBias: experts with biases need expert_tensor_parallel 1.
	RuleExpertBias diag.ID = "megatron-expert-bias"
	// RuleZeroStage: zero_stage, sharding group and fully_sharded do not agree.
	RuleZeroStage diag.ID = "megatron-zero-stage"
	// RuleReplicate: optimizer instances do not divide the expert replicas.
	RuleReplicate diag.ID = "megatron-replicate"
	// RuleFullyShardedPipeline: Megatron-FSDP with pipeline parallelism.
	RuleFullyShardedPipeline diag.ID = "megatron-fully-sharded-pipeline"
	// RuleFullyShardedOptimizer: Megatron-FSDP with another optimizer than Adam.
	RuleFullyShardedOptimizer diag.ID = "megatron-fully-sharded-optimizer"
	// RuleFullyShardedAsync: Megatron-FSDP with asynchronous saves.
	RuleFullyShardedAsync diag.ID = "megatron-fully-sharded-async"
	// RuleFullyShardedScale: Megatron-FSDP with the loss scale of fp16.
	RuleFullyShardedScale diag.ID = "megatron-fully-sharded-scale"
	// RuleFullyShardedStart: parameters that the release cannot draw on the meta device.
	RuleFullyShardedStart diag.ID = "megatron-fully-sharded-start"
	// RulePipelineMask: document masks of several sequences in a pipeline.
	RulePipelineMask diag.ID = "megatron-pipeline-document-mask"
	// RuleVirtualPipeline: interleaving without a pipeline, or a schedule that
	// does not fit the number of chunks.
	RuleVirtualPipeline diag.ID = "megatron-virtual-pipeline"
	// RuleMicroBatchGroup: micro_batches is not a multiple of pipeline_parallel
	// under interleaving.
	RuleMicroBatchGroup diag.ID = "megatron-micro-batch-group"
	// RuleBatchRamp: a step of the batch ramp is no multiple of the replicas.
	RuleBatchRamp diag.ID = "megatron-batch-ramp"
	// RuleRecomputeFull: full recompute lacks a method or a layer count.
	RuleRecomputeFull diag.ID = "megatron-recompute-full"
	// RuleRecomputeModule: a recomputed module does not exist in this model.
	RuleRecomputeModule diag.ID = "megatron-recompute-module"
	// RuleRecomputeBias: MLPs with biases cannot be recomputed by themselves.
	RuleRecomputeBias diag.ID = "megatron-recompute-bias"
	// RuleRecomputeDelayedScaling: fp8 with delayed scaling cannot recompute
	// norms or expert activations.
	RuleRecomputeDelayedScaling diag.ID = "megatron-recompute-delayed-scaling"
	// RuleTiedMTP: models with tied embeddings and MTP layers save no checkpoint from pipelines.
	RuleTiedMTP diag.ID = "megatron-tied-mtp"
	// RuleRecomputeMTP: MTP layers are recomputed one by one.
	RuleRecomputeMTP diag.ID = "megatron-recompute-mtp"
	// RuleRecomputeMTPRelease: the release cannot recompute whole layers of a
	// model with MTP layers.
	RuleRecomputeMTPRelease diag.ID = "megatron-recompute-mtp-release"
	// RuleBF16Layers: more layers stay in bf16 than a pipeline rank has.
	RuleBF16Layers diag.ID = "megatron-bf16-layers"
	// RuleLowPrecisionAlignment: a matrix dimension per rank does not fill the
	// blocks of the low-precision kernels.
	RuleLowPrecisionAlignment diag.ID = "megatron-low-precision-alignment"
	// RuleLowPrecisionGather: sequence parallelism leaves a rank parts of the blocks
	// that are gathered in low precision.
	RuleLowPrecisionGather diag.ID = "megatron-low-precision-gather"
	// RuleParameterGather: low-precision parameters need a sharded optimizer.
	RuleParameterGather diag.ID = "megatron-parameter-gather"
	// RuleOverlapGather: the parameter gather needs the gradient overlap and a
	// sharded optimizer.
	RuleOverlapGather diag.ID = "megatron-overlap-gather"
	// RuleOverlapTensor: tensor-parallel overlap needs sequence parallelism.
	RuleOverlapTensor diag.ID = "megatron-overlap-tensor"
	// RuleOverlapOptimizer: a gather behind the optimizer does not go with the rest.
	RuleOverlapOptimizer diag.ID = "megatron-overlap-optimizer"
	// RuleOverlapOptimizerExperts: a gather behind the optimizer would gather old experts.
	RuleOverlapOptimizerExperts diag.ID = "megatron-overlap-optimizer-experts"
	// RuleOverlapExpert: expert overlap does not go with the rest.
	RuleOverlapExpert diag.ID = "megatron-overlap-expert"
	// RuleFlexDispatcher: the flex dispatcher needs more than one rank, and no
	// token drop.
	RuleFlexDispatcher diag.ID = "megatron-flex-dispatcher"
	// RuleDeepEP: DeepEP has no kernels for so many ranks on such nodes.
	RuleDeepEP diag.ID = "megatron-deepep-ranks"
	// RuleOptimizerOffload: optimizer offload needs Adam and a sharded optimizer.
	RuleOptimizerOffload diag.ID = "megatron-optimizer-offload"
	// RuleAsyncOffload: a checkpoint would hold states of several steps.
	RuleAsyncOffload diag.ID = "megatron-async-offload"
	// RuleReshard: gathered parameters are freed after the forward pass exactly
	// in zero_stage 3 of Megatron-FSDP.
	RuleReshard diag.ID = "megatron-reshard-after-forward"
	// RuleActivationOffload: activation offload does not go with full recompute.
	RuleActivationOffload diag.ID = "megatron-activation-offload"
	// RuleShardBuffers: Megatron-FSDP has no buffers that stay beside this.
	RuleShardBuffers diag.ID = "megatron-shard-buffers"
	// RuleSHARP: there is nothing that the switches could add up.
	RuleSHARP diag.ID = "megatron-sharp"
	// RuleStateDType: optimizer states below fp32 need Adam and a sharded optimizer.
	RuleStateDType diag.ID = "megatron-optimizer-state-dtype"
	// RuleCUDAGraphs: CUDA graphs do not go with the rest.
	RuleCUDAGraphs diag.ID = "megatron-cuda-graphs"
	// RuleGraphModules: the release cannot capture the modules in graphs.
	RuleGraphModules diag.ID = "megatron-cuda-graph-modules"
	// RuleStaticExperts: release or job have no graph of the whole step over experts that drop no token.
	RuleStaticExperts diag.ID = "megatron-static-experts"
	// RuleStaticExpertsLayout: such a graph does not go with the layout and the rest.
	RuleStaticExpertsLayout diag.ID = "megatron-static-experts-layout"
	// RuleStaticExpertsLoad: buffers of experts would overflow in every step.
	RuleStaticExpertsLoad diag.ID = "megatron-static-experts-load"
	// RuleAttention: the attention kernel cannot do what the model needs.
	RuleAttention diag.ID = "megatron-attention-kernel"
	// RuleSGD: SGD with sharded states.
	RuleSGD diag.ID = "megatron-sgd"
	// RuleFP32Checkpoint: sharded states of fp32 parameters cannot be saved and loaded.
	RuleFP32Checkpoint diag.ID = "megatron-fp32-checkpoint"
	// RuleMixerHeads: heads or groups of mixers are not divisible by tensor_parallel.
	RuleMixerHeads diag.ID = "megatron-mixer-heads"
	// RuleHybrid: an option that models with a layer pattern do not have.
	RuleHybrid diag.ID = "megatron-hybrid"
	// RuleMuon: Muon distributes its own states.
	RuleMuon diag.ID = "megatron-muon"
)
