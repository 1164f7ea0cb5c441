package refusals

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// What several rules have in common.
const (
	kernel = "a kernel of Transformer Engine refuses it, on a GPU, at the first step"
	naming = "nothing is emitted for it: the layout would claim what the arguments do not say"
)

// hybrid gives the dense model a pattern of mixers, MLPs and one attention.
func hybrid(d *Draft, groups int) {
	m := &d.Job.Model
	m.LayerPattern, m.Mamba = "M-M-M-*-", &job.Mamba{Heads: 2 * m.HiddenSize / 64, HeadDim: 64, StateDim: 128, Groups: groups, ConvKernel: 4}
	m.PositionEmbedding = job.PositionEmbedding{Kind: "none"}
}

// static asks for a graph of the whole step over experts that drop no token.
func static(d *Draft) {
	d.Job.Training.Precision, d.Job.Cluster.GPU.ComputeCapability = "mxfp8", "10.0"
	d.Job.Execution.CUDAGraphs, d.Job.Execution.MoEDispatcher = job.Some("full"), job.Some("hybridep")
	d.Layout.ExpertParallel = 8
}

var megatronCases = []Case{
	{Rule: "megatron-mixer-heads", Model: "dense", What: "2 groups of a Mamba mixer over 4 tensor ranks",
		Says: "ngroups must be evenly divisible by tp_size",
		Edit: func(d *Draft) {
			hybrid(d, 2)
			d.Layout.TensorParallel = 4
		}},
	{Rule: "megatron-hybrid", Model: "dense", What: "a layer pattern with CUDA graphs of layers",
		Why: "ndc emits none for hybrid models: which of their layers a graph covers was never measured",
		Edit: func(d *Draft) {
			hybrid(d, 8)
			d.Execution = func(x *plan.Execution) { x.CUDAGraphs = "layer" }
		}},
	{Rule: "megatron-heads-not-divisible", Model: "dense", What: "10 heads over 4 tensor ranks",
		Says: "must be a multiple of tensor_model_parallel_size",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel = 4
			d.Job.Model.Attention.Heads, d.Job.Model.Attention.KVHeads, d.Job.Model.HiddenSize = 10, 2, 640
		}},
	{Rule: "megatron-kv-heads-not-divisible", Model: "dense", What: "6 key-value heads over 4 tensor ranks",
		Says: "must be a multiple or divisor of tensor_model_parallel_size",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel = 4
			d.Job.Model.Attention.Heads, d.Job.Model.Attention.KVHeads = 24, 6
		}},
	{Rule: "megatron-ffn-not-divisible", Model: "dense", What: "a feed-forward width of 4098 over 4 tensor ranks",
		Says: "4098 is not divisible by 4",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Model.FFNHiddenSize = 4, 4098
		}},
	{Rule: "megatron-vocab-not-divisible", Model: "dense", What: "a padded vocabulary of 32002 over 4 tensor ranks",
		Says: "32002 is not divisible by 4",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Model.PaddedVocabSize = 4, 32002
		}},
	{Rule: "megatron-sequence-parallel-alone", Model: "dense", What: "sequence_parallel with tensor_parallel = 1",
		Why: "Megatron-LM turns it off with a warning: the layout would claim what does not run",
		Edit: func(d *Draft) {
			d.Layout.SequenceParallel = true
		}},
	{Rule: "megatron-sequence-parallel-length", Model: "dense", What: "4098 tokens over 4 tensor ranks",
		Why: "asserted in the first step: mappings.py splits the sequence evenly",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 4, true
			d.Job.Model.SequenceLength, d.Job.Model.MaxPositions = 4098, 4098
		}},
	{Rule: "megatron-context-length", Model: "dense", What: "4098 tokens over 2 context ranks",
		Says: "seq-length should be a multiple of 2 * context-parallel-size",
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Model.SequenceLength, d.Job.Model.MaxPositions = 4098, 4098
		}},
	{Rule: "megatron-context-heads", Model: "dense", What: "all-to-all of 6 heads over 4 context ranks",
		Why: kernel,
		Edit: func(d *Draft) {
			d.Layout.ContextParallel = 4
			d.Job.Model.Attention.Heads, d.Job.Model.Attention.KVHeads = 6, 6
			d.Job.Execution.ContextParallelType = job.Some("ulysses")
		}},
	{Rule: "megatron-hierarchical-context", Model: "dense", What: "hierarchical context parallelism inside a node", Unasked: true,
		Why: "there are no two levels whose sizes could be written", Edit: func(d *Draft) {
			d.Layout.ContextParallel = 2
			d.Job.Execution.ContextParallelType = job.Some("hierarchical")
		}},
	{Rule: "megatron-context-document-mask", Model: "dense", What: "document masks over 2 context ranks",
		Why:  "of two documents of 8 tokens the first of two ranks gets tokens 0 to 3 of the first and 4 to 7 of the second, and turns them by positions 0, 1, 6, 7 of each; a document of odd length ends the run where rope is not fused",
		Edit: func(d *Draft) { d.Layout.ContextParallel, d.Job.Training.Data.DocumentMask = 2, true }},
	{Rule: "megatron-pipeline-document-mask", Model: "dense", What: "document masks in a pipeline with micro_batch_size = 2",
		Why: "of two sequences of 16 tokens a stage sends 32 × 1, and the next receives 16 × 2 (schedules.py), which no kernel of packed sequences takes",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.MicroBatchSize, d.Job.Training.Data.DocumentMask = 2, 2, true
		}},
	{Rule: "megatron-context-kernel", Model: "dense", What: "attention sinks with ring attention",
		Why: kernel,
		Edit: func(d *Draft) {
			d.Layout.ContextParallel, d.Job.Model.Attention.Sinks = 2, true
			d.Job.Execution.ContextParallelType = job.Some("ring")
		}},
	{Rule: "megatron-no-experts", Model: "dense", What: "expert_parallel = 2 without experts",
		Why:  "nothing would be spread: the groups are made and never used",
		Edit: func(d *Draft) { d.Layout.ExpertParallel = 2 }},
	{Rule: "megatron-experts-not-divisible", Model: "experts", What: "6 experts over 4 ranks",
		Says: "Number of experts should be a multiple of expert model parallel_size",
		Edit: func(d *Draft) {
			d.Layout.ExpertParallel, d.Job.Model.MoE.Experts = 4, 6
		}},
	{Rule: "megatron-expert-mesh", Model: "experts", What: "expert_parallel = 3 on 16 ranks",
		Says: "is not divisible by expert_tensor_model_pipeline_parallel size",
		Edit: func(d *Draft) {
			d.Layout.ExpertParallel, d.Job.Model.MoE.Experts = 3, 6
		}},
	{Rule: "megatron-experts-need-sequence-parallel", Model: "experts", What: "experts with tensor_parallel = 2 and no sequence parallelism",
		Why: "refused in the first step: moe_layer.py raises ValueError",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.ExpertParallel = 2, 2
		}},
	{Rule: "megatron-expert-gradients", Version: "core_v0.18.2", Model: "experts", What: "expert_tensor_parallel = 1 with tensor_parallel = 2 and expert_parallel = 1",
		Why: "it trains wrong: gradients of experts are not added up over the two ranks; a loss of 5.030 in the sixth step, 5.011 is right, which core_v0.19.2 comes to",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 2, true
		}},
	{Rule: "megatron-expert-bias", Model: "experts", What: "experts with biases over 2 tensor ranks",
		Says: "Bias in Moe is only supported when ETP==1",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel, d.Layout.ExpertTensorParallel = 2, true, 2
			d.Job.Model.Attention.Bias, d.Job.Model.MLPBias, d.Job.Model.MoE.Router.Bias = true, true, true
		}},
	{Rule: "megatron-flex-dispatcher", Model: "experts", What: "deepep with expert_parallel = 1",
		Says: "DeepEP dispatcher requires TPxEP > 1",
		Edit: func(d *Draft) {
			d.Job.Execution.MoEDispatcher = job.Some("deepep")
		}},
	{Rule: "megatron-deepep-ranks", Model: "experts", What: "deepep among 8 ranks on nodes of 4 GPUs",
		Why: "refused by DeepEP's kernels, which no CPU has",
		Edit: func(d *Draft) {
			d.Job.Cluster.Nodes, d.Job.Cluster.GPUsPerNode = 4, 4
			d.Job.Execution.MoEDispatcher, d.Layout.ExpertParallel = job.Some("deepep"), 8
		}},
	{Rule: "megatron-zero-stage", Model: "dense", What: "zero_stage = 2 without Megatron-FSDP",
		Why: naming,
		Edit: func(d *Draft) {
			d.Layout.ZeroStage = 2
			d.Execution = func(x *plan.Execution) { x.FullySharded = false }
		}},
	{Rule: "megatron-replicate", Model: "experts", What: "2 copies of each expert in 4 optimizer instances",
		Says: "Expert data parallel size should be divisible by partial DistOpt shard factor",
		Edit: func(d *Draft) {
			d.Layout.ExpertParallel, d.Layout.DataParallelReplicate = 8, 4
		}},
	{Rule: "megatron-fully-sharded-pipeline", Model: "dense", What: "Megatron-FSDP with pipeline_parallel = 2",
		Why: "the release does not document that the two work together, and Megatron-FSDP cannot be built here",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Layout.PipelineParallel = 3, 2
		}},
	{Rule: "megatron-fully-sharded-start", Model: "dense", What: "Megatron-FSDP with zero_stage = 3 and learned positions",
		Why: "it draws the positions with a deviation of 1, which torch's Embedding has on the meta device, in silence",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Model.PositionEmbedding = 3, job.PositionEmbedding{Kind: "learned"}
		}},
	{Rule: "megatron-fully-sharded-optimizer", Model: "dense", What: "Megatron-FSDP with muon",
		Says: "does not support the muon optimizer",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Training.Optimizer.Kind, d.Job.Training.Optimizer.Momentum = 3, "muon", 0.95
		}},
	{Rule: "megatron-fully-sharded-async", Model: "dense", What: "Megatron-FSDP with checkpoint.async",
		Why: "ends at the first save: “save_state_dict_async_plan() got an unexpected keyword argument 'enable_cache'”",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage = 3
			d.Job.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints", SaveOptimizer: true, Async: true}
		}},
	{Rule: "megatron-fully-sharded-scale", Model: "dense", What: "Megatron-FSDP in fp16",
		Why:  "ends at the first update: “'NoneType' object has no attribute 'data'”, of a parameter that lies on another rank",
		Edit: func(d *Draft) { d.Layout.ZeroStage, d.Job.Training.Precision = 2, "fp16" }},
	{Rule: "megatron-parameter-gather", Model: "dense", What: "fp8.parameter_gather with zero_stage = 0",
		Says: "--fp8-param-gather only supported with distributed optimizer",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage = 0
			d.Job.Training.Precision, d.Job.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise", ParameterGather: true}
		}},
	{Rule: "megatron-batch-ramp", Model: "dense", What: "a ramp from 24 sequences on 16 data-parallel ranks",
		Why: "asserted while training, when the ramp begins: num_microbatches_calculator.py",
		Edit: func(d *Draft) {
			d.Job.Training.BatchRamp = &job.BatchRamp{Start: 24, Increment: 8, Sequences: 1000}
		}},
	{Rule: "megatron-virtual-pipeline", Model: "dense", What: "virtual_pipeline = 2 without a pipeline",
		Why:  naming,
		Edit: func(d *Draft) { d.Layout.VirtualPipeline = 2 }},
	{Rule: "megatron-micro-batch-group", Model: "dense", What: "6 micro-batches through 4 interleaved stages",
		Says: "should be 0, or larger than or equal to the pipeline-parallel size",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Job.Training.GlobalBatchSize = 4, 2, 24
		}},
	{Rule: "megatron-recompute-full", Model: "dense", What: "full recompute of no layer",
		Why: "groups of no layers: the first forward pass never ends",
		Edit: func(d *Draft) {
			d.Layout.Recompute, d.Layout.RecomputeMethod = plan.RecomputeFull, "uniform"
		}},
	{Rule: "megatron-recompute-mtp", Model: "dense", What: "uniform recompute of two layers at once with an MTP layer",
		Why: "asserted in the first forward pass: multi_token_prediction.py",
		Edit: func(d *Draft) {
			d.Job.Model.MTP = job.MTP{Layers: 1, LossScale: 0.1}
			d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, "uniform", 2
		}},
	{Rule: "megatron-tied-mtp", Model: "dense", What: "tied embeddings and an MTP layer in 2 pipeline stages",
		Why: "trains, and ends at the first save, or when it loads: the state of the last stage has an output layer that must not be there (asserted in language_module.py; run with core_v0.18.2 and core_v0.19.2)",
		Edit: func(d *Draft) {
			d.Job.Model.MTP, d.Job.Model.TiedEmbeddings = job.MTP{Layers: 1, LossScale: 0.1}, true
			d.Layout.PipelineParallel = 2
		}},
	{Rule: "megatron-recompute-mtp-release", Model: "dense", Version: "core_v0.18.2", What: "full recompute with an MTP layer",
		Why: "ends in the first forward pass: “_checkpointed_forward() got an unexpected keyword argument 'padding_mask'”",
		Edit: func(d *Draft) {
			d.Job.Model.MTP = job.MTP{Layers: 1, LossScale: 0.1}
			d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, "uniform", 1
		}},
	{Rule: "megatron-recompute-bias", Model: "dense", What: "recompute of mlp where MLPs have biases",
		Why: "does not end in the first backward pass: the bias that the recompute returns becomes its result (run with core_v0.18.2 and core_v0.19.2)",
		Edit: func(d *Draft) {
			d.Job.Model.MLPBias, d.Job.Model.Attention.Bias = true, true
			d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModuleMLP
		}},
	{Rule: "megatron-bf16-layers", Model: "dense", What: "more layers in bf16 at the end than a pipeline rank has",
		Says: "must be between 0 and number of layers per pipeline stage",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel = 4
			d.Job.Training.Precision, d.Job.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise", BF16LastLayers: d.Job.Model.Layers/4 + 1}
		}},
	{Rule: "megatron-recompute-module", Model: "dense", What: "recompute of moe in a dense model",
		Why: "the module is not there: nothing would be recomputed, whatever the layout says",
		Edit: func(d *Draft) {
			d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModuleMoE
		}},
	{Rule: "megatron-recompute-delayed-scaling", Model: "dense", What: "recompute of layernorm under delayed scaling",
		Says: "Delayed scaling does not support moe_act and layernorm recompute",
		Edit: func(d *Draft) {
			d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModuleNorm
			d.Job.Training.Precision, d.Job.Training.FP8 = "fp8", job.FP8{Recipe: "delayed"}
		}},
	{Rule: "megatron-low-precision-alignment", Model: "dense", What: "fp8 with a feed-forward width of 4104",
		Why: kernel,
		Edit: func(d *Draft) {
			d.Job.Training.Precision, d.Job.Training.FP8, d.Job.Model.FFNHiddenSize = "fp8", job.FP8{Recipe: "tensorwise"}, 4104
		}},
	{Rule: "megatron-low-precision-gather", Model: "dense", What: "fp8 with sequence parallelism that leaves a rank 4 tokens",
		Why: kernel,
		Edit: func(d *Draft) {
			d.Job.Training.Precision, d.Job.Training.FP8, d.Job.Model.SequenceLength = "fp8", job.FP8{Recipe: "tensorwise"}, 32
			d.Layout.TensorParallel, d.Layout.SequenceParallel = 8, true
		}},
	{Rule: "megatron-attention-kernel", Model: "dense", What: "flash attention in fp32",
		Why: kernel,
		Edit: func(d *Draft) {
			d.Job.Training.Precision, d.Job.Execution.Attention = "fp32", job.Some("flash")
		}},
	{Rule: "megatron-overlap-gather", Model: "dense", What: "overlapped parameter gather without overlapped gradient reduction",
		Says: "Must use --overlap-param-gather with --overlap-grad-reduce",
		Edit: func(d *Draft) {
			d.Job.Execution.OverlapGradientReduce, d.Job.Execution.OverlapParameterGather = job.Some(false), job.Some(true)
		}},
	{Rule: "megatron-overlap-optimizer", Model: "dense", What: "overlap_optimizer_gather without interleaving",
		Says: "only supported with interleaved pipeline parallelism",
		Edit: func(d *Draft) {
			d.Job.Execution.OverlapOptimizerGather = job.Some(true)
		}},
	{Rule: "megatron-overlap-optimizer-experts", Model: "experts", What: "overlap_optimizer_gather with experts",
		Why: "the gather takes all buckets of the first chunk when its dense parameters are updated, and the optimizer of the experts comes after it (core/optimizer/optimizer.py, ChainedOptimizer._step): replicas would go on with old experts",
		Edit: func(d *Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.PipelineSchedule = 2, 2, plan.ScheduleInterleaved1F1B
			d.Job.Execution.OverlapOptimizerGather = job.Some(true)
		}},
	{Rule: "megatron-overlap-tensor", Model: "dense", What: "overlap_tensor_parallel without sequence parallelism",
		Says: "can happen only when sequence parallelism is enabled",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Job.Execution.OverlapTensorParallel = 2, job.Some(true)
		}},
	{Rule: "megatron-overlap-tensor", Model: "dense", What: "overlap_tensor_parallel with latent attention",
		Why: "its first linear without a buffer turns the overlap off for all layers that are built after it (core/extensions/transformer_engine.py, TELinear): nothing is gained, and the plan would count on it",
		Edit: func(d *Draft) {
			d.Layout.TensorParallel, d.Layout.SequenceParallel, d.Job.Execution.OverlapTensorParallel = 2, true, job.Some(true)
			d.Job.Model.Attention.KVHeads, d.Job.Model.Attention.MLA = 16, &job.MLA{QLoraRank: 256, KVLoraRank: 128, QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64}
		}},
	{Rule: "megatron-overlap-expert", Model: "experts", What: "overlap_expert_parallel with expert_parallel = 1",
		Says: "only supported with expert model parallelism",
		Edit: func(d *Draft) {
			d.Job.Execution.OverlapExpertParallel = job.Some(true)
		}},
	{Rule: "megatron-optimizer-offload", Model: "dense", What: "offload.optimizer with zero_stage = 0",
		Says: "only supported with distributed optimizer",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Execution.OffloadOptimizer = 0, job.Some(true)
		}},
	{Rule: "megatron-activation-offload", Model: "dense", What: "offload.activations with full recompute",
		Why: "recomputed layers keep nothing that could be offloaded",
		Edit: func(d *Draft) {
			d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, "uniform", 1
			d.Job.Execution.OffloadActivations = job.Some(true)
		}},
	{Rule: "megatron-async-offload", Model: "dense", What: "offload.optimizer with checkpoint.async",
		Why: "the writer gets tensors of the host without a copy (_clone_or_dequantize_if_needed in filesystem_async.py), and a checkpoint then holds states of two steps, as one on CPU ranks did",
		Edit: func(d *Draft) {
			d.Job.Execution.OffloadOptimizer = job.Some(true)
			d.Job.Training.Checkpoint.Path, d.Job.Training.Checkpoint.Async = "/checkpoints", true
		}},
	{Rule: "megatron-reshard-after-forward", Model: "dense", What: "reshard_after_forward with zero_stage = 1",
		Why: naming,
		Edit: func(d *Draft) {
			d.Job.Execution.ReshardAfterForward = job.Some(true)
			d.Job.Constraints.Layout.ZeroStage = job.IntChoice{Values: []int{1, 3}}
		}},
	{Rule: "megatron-shard-buffers", Model: "dense", What: "shard_buffers = \"double\" with zero_stage = 2",
		Why: "Megatron-FSDP has units, whose buffers they are, only where it shards parameters (mcore_fsdp_adapter.py): the option would do nothing",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Execution.FullySharded, d.Job.Execution.ShardBuffers = 2, job.Some(true), job.Some("double")
		}},
	{Rule: "megatron-sharp", Model: "dense", What: "sharp = \"replicas\" with zero_stage = 0",
		Says: "dp_replica group requires num_distributed_optimizer_instances > 1",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Execution.SHARP = 0, job.Some("replicas")
		}},
	{Rule: "megatron-optimizer-state-dtype", Model: "dense", What: "bf16 optimizer states with zero_stage = 0",
		Says: "only supported with distributed optimizer",
		Edit: func(d *Draft) {
			d.Layout.ZeroStage, d.Job.Execution.OptimizerStateDType = 0, job.Some("bf16")
		}},
	{Rule: "megatron-cuda-graphs", Model: "dense", What: "CUDA graphs of layers with full recompute",
		Says: "full recompute is only supported with full iteration CUDA graph",
		Edit: func(d *Draft) {
			d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, "uniform", 1
			d.Job.Execution.CUDAGraphs = job.Some("layer")
		}},
	{Rule: "megatron-cuda-graph-modules", Model: "experts", What: "CUDA graphs of moe_preprocess alone",
		Says: "moe_preprocess cuda graph is only supported with moe_router cuda graph",
		Edit: func(d *Draft) { d.Job.Execution.CUDAGraphs = job.Some("moe_preprocess") }},
	{Rule: "megatron-static-experts", Model: "experts", What: "a CUDA graph of the whole step over dropless experts in bf16",
		Why: "the kernel of Transformer Engine that counts rows on the GPU takes mxfp8 alone (is_supported and fuse_grouped_mlp_ops in pytorch/ops); the other path reads the counts on the host, which ends the capture at the fourth step",
		Edit: func(d *Draft) {
			static(d)
			d.Job.Training.Precision = "bf16"
		}},
	{Rule: "megatron-static-experts-layout", Model: "experts", What: "a CUDA graph of the whole step over dropless experts with deepep",
		Says: "moe_expert_rank_capacity_factor requires moe_flex_dispatcher_backend to be",
		Edit: func(d *Draft) {
			static(d)
			d.Job.Execution.MoEDispatcher = job.Some("deepep")
		}},
	{Rule: "megatron-static-experts-load", Model: "experts", What: "a CUDA graph of the whole step over dropless experts with load_imbalance = 1.6",
		Why: "shows when tokens are routed: PagedStashRunner (paged_stash.py) would run every step again, without a graph",
		Edit: func(d *Draft) {
			static(d)
			d.Job.Model.MoE.LoadImbalance = 1.6
		}},
	{Rule: "megatron-sgd", Model: "dense", What: "sgd with zero_stage = 1",
		Says: "Only Adam, HybridDeviceOptimizer, and optimizers with an init_state_fn",
		Edit: func(d *Draft) {
			d.Job.Training.Optimizer.Kind, d.Job.Training.Optimizer.Momentum = "sgd", 0.9
		}},
	{Rule: "megatron-fp32-checkpoint", Model: "dense", What: "a checkpoint in fp32",
		Why: "shows only when a checkpoint is saved and read",
		Edit: func(d *Draft) {
			d.Job.Training.Precision = "fp32"
			d.Job.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints", IntervalSteps: 100, SaveOptimizer: true}
		}},
	{Rule: "megatron-muon", Model: "dense", What: "muon in 2 optimizer instances",
		Says: "Partial DistOpt cannot be used without DistOpt",
		Edit: func(d *Draft) {
			d.Job.Training.Optimizer.Kind, d.Job.Training.Optimizer.Momentum, d.Layout.DataParallelReplicate = "muon", 0.95, 2
		}},
}
