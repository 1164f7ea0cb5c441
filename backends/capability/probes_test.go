package capability_test

import (
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/lang/job"
)

// probe is a job that asks for a feature.
type probe struct {
	feature capability.Feature
	// kind is the backend whose scope the job lies in; "" for all backends, and
	// a job that lies in no scope.
	kind  string
	model string // of the catalogue; "": the small dense one
	edit  func(j *job.Job)
}

func (p *probe) base() string {
	if p.model == "" {
		return "debug"
	}
	return p.model
}

// The models that stand for an architecture.
const (
	dense   = "debug"
	experts = "debug_moe"
	mixtral = "mixtral_8x7b"
	latent  = "deepseek_v3"
	sinks   = "gpt_oss_20b"
	gemma   = "gemma2_27b"
	gpt     = "gpt3_1_7b"
	qwen2   = "qwen2_5_7b"
	qwen3   = "qwen3_8b"
	glm     = "glm_4_5_air"
	titan   = "torchtitan"
	ds      = "deepspeed"
)

func ints(n ...int) job.IntChoice { return job.IntChoice{Values: n} }

func same(*job.Job) {}

// hybrid makes each layer a single block.
func hybrid(j *job.Job) {
	m := &j.Model
	letter, mamba := byte(job.MLPBlock), byte(job.MambaBlock)
	if m.MoE != nil {
		letter, m.MoE.FirstDenseLayers = job.ExpertsBlock, 0
	}
	pattern := make([]byte, m.Layers)
	for i := range pattern {
		pattern[i] = [3]byte{mamba, letter, job.AttentionBlock}[i%3]
	}
	m.LayerPattern, m.Mamba = string(pattern), &job.Mamba{Heads: 16, HeadDim: 32, StateDim: 64, Groups: 8, ConvKernel: 4}
}

// schedule asks for a pipeline of two ranks, with two chunks where the schedule
// has them.
func schedule(j *job.Job, name string) {
	c := &j.Constraints.Layout
	c.PipelineParallel, c.PipelineSchedule = ints(2), job.StringChoice{name}
	if strings.HasPrefix(name, "zb") || name == "dualpipev" {
		j.Execution.Compile = job.Some(false)
	}
}

// probes ask for every feature of the table.
var probes = []probe{
	{feature: "constraints.layout.tensor_parallel", model: mixtral, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.tensor_parallel", kind: titan, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.tensor_parallel", kind: ds, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.tensor_parallel", kind: ds, model: gemma, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.tensor_parallel with zero_stage=3", model: mixtral, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.tensor_parallel with zero_stage=3", kind: titan, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.tensor_parallel with zero_stage=3", kind: ds, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.tensor_parallel with model.qk_norm", model: qwen3, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.tensor_parallel with biases", model: qwen2, edit: func(j *job.Job) { j.Constraints.Layout.TensorParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", model: sinks, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", kind: titan, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", kind: titan, model: latent, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", kind: ds, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", kind: ds, model: mixtral, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.context_parallel", kind: ds, model: experts, edit: func(j *job.Job) { j.Constraints.Layout.ContextParallel = ints(2) }},
	{feature: "constraints.layout.pipeline_parallel", model: qwen3, edit: func(j *job.Job) { j.Constraints.Layout.PipelineParallel = ints(2) }},
	{feature: "constraints.layout.pipeline_parallel", kind: titan, edit: func(j *job.Job) { j.Constraints.Layout.PipelineParallel = ints(2) }},
	{feature: "constraints.layout.pipeline_parallel", kind: titan, model: latent, edit: func(j *job.Job) { j.Constraints.Layout.PipelineParallel = ints(2) }},
	{feature: "constraints.layout.virtual_pipeline", model: qwen3, edit: func(j *job.Job) {
		j.Constraints.Layout.PipelineParallel = ints(2)
		j.Constraints.Layout.VirtualPipeline = ints(2)
	}},
	{feature: "constraints.layout.virtual_pipeline", kind: titan, edit: func(j *job.Job) {
		j.Constraints.Layout.PipelineParallel = ints(2)
		j.Constraints.Layout.VirtualPipeline = ints(2)
	}},
	{feature: "constraints.layout.virtual_pipeline", kind: titan, model: latent, edit: func(j *job.Job) {
		j.Constraints.Layout.PipelineParallel = ints(2)
		j.Constraints.Layout.VirtualPipeline = ints(2)
	}},
	{feature: "constraints.layout.pipeline_schedule=gpipe", edit: func(j *job.Job) { schedule(j, "gpipe") }},
	{feature: "constraints.layout.pipeline_schedule=1f1b", edit: func(j *job.Job) { schedule(j, "1f1b") }},
	{feature: "constraints.layout.pipeline_schedule=interleaved_1f1b", edit: func(j *job.Job) { schedule(j, "interleaved_1f1b") }},
	{feature: "constraints.layout.pipeline_schedule=zb_h1", edit: func(j *job.Job) { schedule(j, "zb_h1") }},
	{feature: "constraints.layout.pipeline_schedule=zb_h2", edit: func(j *job.Job) { schedule(j, "zb_h2") }},
	{feature: "constraints.layout.pipeline_schedule=zbv", edit: func(j *job.Job) { schedule(j, "zbv") }},
	{feature: "constraints.layout.pipeline_schedule=dualpipev", edit: func(j *job.Job) { schedule(j, "dualpipev") }},
	{feature: "constraints.layout.stage_layers", edit: func(j *job.Job) {
		j.Constraints.Layout.PipelineParallel = ints(2)
		j.Constraints.Layout.StageLayers = []int{3, 1}
	}},
	{feature: "constraints.layout.sequence_parallel", edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.SequenceParallel = job.BoolChoice{Set: true, Value: true}
	}},
	{feature: "constraints.layout.sequence_parallel=false", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.SequenceParallel = job.BoolChoice{Set: true}
	}},
	{feature: "constraints.layout.sequence_parallel=false", kind: "megatron", edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.SequenceParallel = job.BoolChoice{Set: true}
	}},
	{feature: "constraints.layout.sequence_parallel=false", kind: ds, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.SequenceParallel = job.BoolChoice{Set: true}
	}},
	{feature: "constraints.layout.expert_parallel", model: sinks, edit: func(j *job.Job) { j.Constraints.Layout.ExpertParallel = ints(2) }},
	{feature: "constraints.layout.expert_parallel", kind: ds, model: experts, edit: func(j *job.Job) { j.Constraints.Layout.ExpertParallel = ints(2) }},
	{feature: "constraints.layout.expert_parallel", kind: ds, model: mixtral, edit: func(j *job.Job) { j.Constraints.Layout.ExpertParallel = ints(2) }},
	{feature: "constraints.layout.expert_parallel", kind: ds, model: latent, edit: func(j *job.Job) { j.Constraints.Layout.ExpertParallel = ints(2) }},
	{feature: "constraints.layout.expert_parallel with zero_stage=3", model: sinks, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.expert_parallel with zero_stage=3", kind: ds, model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.expert_parallel with zero_stage=3", kind: ds, model: mixtral, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.expert_parallel with zero_stage=3", kind: ds, model: latent, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Constraints.Layout.ZeroStage = ints(3)
	}},
	{feature: "constraints.layout.expert_tensor_parallel", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Constraints.Layout.ExpertTensorParallel = ints(2)
	}},
	{feature: "constraints.layout.data_parallel_replicate", edit: func(j *job.Job) {
		j.Constraints.Layout.DataParallelReplicate = ints(2)
		j.Constraints.Layout.DataParallelShard = ints(4)
		j.Constraints.Layout.ZeroStage = ints(1, 3)
	}},
	{feature: "constraints.layout.zero_stage=0", edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage = ints(0) }},
	{feature: "constraints.layout.zero_stage=0", kind: ds, edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage, j.Training.Precision = ints(0), "fp32" }},
	{feature: "constraints.layout.zero_stage=1", edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage = ints(1) }},
	{feature: "constraints.layout.zero_stage=2", edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage = ints(2) }},
	{feature: "constraints.layout.zero_stage=3", edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage = ints(3) }},
	{feature: "constraints.layout.recompute=selective", edit: func(j *job.Job) { j.Constraints.Layout.Recompute = job.StringChoice{"selective"} }},
	{feature: "constraints.layout.recompute=full", edit: func(j *job.Job) { j.Constraints.Layout.Recompute = job.StringChoice{"full"} }},
	{feature: "constraints.layout.recompute_method=uniform", edit: func(j *job.Job) {
		j.Constraints.Layout.Recompute = job.StringChoice{"full"}
		j.Constraints.Layout.RecomputeMethod = job.StringChoice{"uniform"}
	}},
	{feature: "constraints.layout.recompute_method=block", edit: func(j *job.Job) {
		j.Constraints.Layout.Recompute = job.StringChoice{"full"}
		j.Constraints.Layout.RecomputeMethod = job.StringChoice{"block"}
	}},
	{feature: "constraints.layout.recompute_layers", edit: func(j *job.Job) {
		j.Constraints.Layout.Recompute = job.StringChoice{"full"}
		j.Constraints.Layout.RecomputeMethod = job.StringChoice{"uniform"}
		j.Constraints.Layout.RecomputeLayers = ints(2)
	}},
	{feature: "constraints.layout.recompute_modules", edit: func(j *job.Job) {
		j.Constraints.Layout.Recompute = job.StringChoice{"selective"}
		j.Constraints.Layout.RecomputeModules = []string{"mlp"}
	}},
	{feature: "constraints.layout.recompute_modules=op", edit: func(j *job.Job) {
		j.Constraints.Layout.Recompute = job.StringChoice{"selective"}
		j.Constraints.Layout.RecomputeModules = []string{"op"}
	}},
	{feature: "execution.attention=flash", edit: func(j *job.Job) { j.Execution.Attention = job.Some("flash") }},
	{feature: "execution.attention=fused", edit: func(j *job.Job) { j.Execution.Attention = job.Some("fused") }},
	{feature: "execution.attention=unfused", edit: func(j *job.Job) { j.Execution.Attention = job.Some("unfused") }},
	{feature: "execution.attention=flex_flash", edit: func(j *job.Job) { j.Execution.Attention = job.Some("flex_flash") }},
	{feature: "execution.attention=varlen", edit: func(j *job.Job) { j.Execution.Attention = job.Some("varlen") }},
	{feature: "execution.overlap_gradient_reduce=false", edit: func(j *job.Job) { j.Execution.OverlapGradientReduce = job.Some(false) }},
	{feature: "execution.overlap_parameter_gather=false", edit: func(j *job.Job) { j.Execution.OverlapParameterGather = job.Some(false) }},
	{feature: "execution.overlap_optimizer_gather", edit: func(j *job.Job) {
		j.Constraints.Layout.PipelineParallel, j.Constraints.Layout.VirtualPipeline = ints(2), ints(2)
		j.Training.Checkpoint.Path, j.Execution.OverlapOptimizerGather = "", job.Some(true)
	}},
	{feature: "execution.tensor_parallel_overlap_config", edit: func(j *job.Job) { j.OverlapConfig = "/buffers.yaml" }},
	{feature: "execution.sharp=data_parallel", edit: func(j *job.Job) { j.Cluster.Network.Kind, j.Execution.SHARP = "infiniband", job.Some("data_parallel") }},
	{feature: "execution.sharp=replicas", edit: func(j *job.Job) { j.Cluster.Network.Kind, j.Execution.SHARP = "infiniband", job.Some("replicas") }},
	{feature: "execution.shard_buffers=double", edit: buffered("double")},
	{feature: "execution.shard_buffers=registered", edit: buffered("registered")},
	{feature: "execution.overlap_tensor_parallel", edit: func(j *job.Job) {
		j.Constraints.Layout.TensorParallel = ints(2)
		j.Execution.OverlapTensorParallel = job.Some(true)
	}},
	{feature: "execution.overlap_expert_parallel", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.OverlapExpertParallel = job.Some(true)
	}},
	{feature: "execution.gradient_dtype=bf16", edit: func(j *job.Job) { j.Execution.GradientDType = job.Some("bf16") }},
	{feature: "execution.optimizer_state_dtype=bf16", edit: func(j *job.Job) { j.Execution.OptimizerStateDType = job.Some("bf16") }},
	{feature: "execution.optimizer_state_dtype=fp16", edit: func(j *job.Job) { j.Execution.OptimizerStateDType = job.Some("fp16") }},
	{feature: "execution.optimizer_state_dtype=fp8", edit: func(j *job.Job) { j.Execution.OptimizerStateDType = job.Some("fp8") }},
	{feature: "execution.cross_entropy=fused", edit: func(j *job.Job) { j.Execution.CrossEntropy = job.Some("fused") }},
	{feature: "execution.loss_chunks", edit: func(j *job.Job) { j.Execution.LossChunks = job.Some(8) }},
	{feature: "execution.cuda_graphs", edit: func(j *job.Job) { j.Execution.CUDAGraphs = job.Some("attention") }},
	{feature: "execution.cuda_graphs=layer", edit: func(j *job.Job) { j.Execution.CUDAGraphs = job.Some("layer") }},
	{feature: "execution.cuda_graphs=full", edit: func(j *job.Job) { j.Execution.CUDAGraphs = job.Some("full") }},
	{feature: "execution.compile", edit: func(j *job.Job) { j.Execution.Compile = job.Some(true) }},
	{feature: "execution.moe_dispatcher=allgather", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("allgather")
	}},
	{feature: "execution.moe_dispatcher=alltoall", model: sinks, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("alltoall")
	}},
	{feature: "execution.moe_dispatcher=alltoall", kind: ds, model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("alltoall")
	}},
	{feature: "execution.moe_dispatcher=deepep", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("deepep")
	}},
	{feature: "execution.moe_dispatcher=deepep", kind: titan, model: latent, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("deepep")
	}},
	{feature: "execution.moe_dispatcher=hybridep", model: experts, edit: func(j *job.Job) {
		j.Constraints.Layout.ExpertParallel = ints(2)
		j.Execution.MoEDispatcher = job.Some("hybridep")
	}},
	{feature: "execution.context_parallel_type=ring", edit: func(j *job.Job) { j.Execution.ContextParallelType = job.Some("ring") }},
	{feature: "execution.context_parallel_type=all_gather", edit: func(j *job.Job) { j.Execution.ContextParallelType = job.Some("all_gather") }},
	{feature: "execution.context_parallel_type=ulysses", edit: func(j *job.Job) { j.Execution.ContextParallelType = job.Some("ulysses") }},
	{feature: "execution.context_parallel_type=hierarchical", edit: func(j *job.Job) { j.Execution.ContextParallelType = job.Some("hierarchical") }},
	{feature: "execution.reshard_after_forward=false", edit: func(j *job.Job) { j.Execution.ReshardAfterForward = job.Some(false) }},
	{feature: "execution.fully_sharded", edit: func(j *job.Job) { j.Execution.FullySharded = job.Some(true) }},
	{feature: "execution.zero_hpz_partition", edit: func(j *job.Job) { j.Constraints.Layout.ZeroStage = ints(3); j.Execution.ZeroHPZPartition = job.Some(2) }},
	{feature: "execution.offload.optimizer", edit: func(j *job.Job) { j.Execution.OffloadOptimizer = job.Some(true) }},
	{feature: "execution.offload.parameters", edit: func(j *job.Job) { j.Execution.OffloadParameters = job.Some(true) }},
	{feature: "execution.offload.parameters", kind: titan, edit: func(j *job.Job) {
		j.Execution.OffloadOptimizer = job.Some(true)
		j.Execution.OffloadParameters = job.Some(true)
	}},
	{feature: "execution.offload.activations", edit: func(j *job.Job) { j.Execution.OffloadActivations = job.Some(true) }},
	{feature: "training.precision=bf16", edit: func(j *job.Job) { j.Training.Precision = "bf16" }},
	{feature: "training.precision=fp32", edit: func(j *job.Job) { j.Training.Precision = "fp32" }},
	{feature: "training.precision=fp16", edit: func(j *job.Job) { j.Training.Precision = "fp16" }},
	{feature: "training.precision=fp8", edit: func(j *job.Job) { j.Training.Precision = "fp8" }},
	{feature: "training.precision=mxfp8", edit: func(j *job.Job) { j.Training.Precision = "mxfp8" }},
	{feature: "training.precision=nvfp4", edit: func(j *job.Job) { j.Training.Precision = "nvfp4" }},
	{feature: "training.fp8.recipe=delayed", edit: func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "delayed" }},
	{feature: "training.fp8.recipe=tensorwise", edit: func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "tensorwise" }},
	{feature: "training.fp8.recipe=rowwise", edit: func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "rowwise" }},
	{feature: "training.fp8.recipe=blockwise", edit: func(j *job.Job) { j.Training.Precision, j.Training.FP8.Recipe = "fp8", "blockwise" }},
	{feature: "training.fp8.parameter_gather", edit: func(j *job.Job) {
		j.Training.Precision, j.Training.FP8.Recipe, j.Training.FP8.ParameterGather = "fp8", "tensorwise", true
	}},
	{feature: "training.precision with experts=fp32", model: experts, edit: func(j *job.Job) { j.Training.Precision = "fp32" }},
	{feature: "training.precision with experts=fp16", model: experts, edit: func(j *job.Job) { j.Training.Precision = "fp16" }},
	{feature: "training.precision with experts=fp8", model: experts, edit: func(j *job.Job) {
		j.Training.Precision, j.Training.FP8.Recipe = "fp8", "tensorwise"
		if j.Backend.Kind == "torchtitan" {
			j.Training.FP8.Recipe = "rowwise"
		}
	}},
	{feature: "training.precision with experts=nvfp4", model: experts, edit: func(j *job.Job) { j.Training.Precision = "nvfp4" }},
	{feature: "training.optimizer=muon", edit: func(j *job.Job) { j.Training.Optimizer.Kind = "muon" }},
	{feature: "training.optimizer=sgd", edit: func(j *job.Job) {
		j.Training.Optimizer.Kind, j.Training.Checkpoint = "sgd", job.Checkpoint{} // Megatron-LM cannot load its momentum
	}},
	{feature: "training.batch_ramp", edit: func(j *job.Job) { j.Training.BatchRamp = &job.BatchRamp{Start: 32, Increment: 32, Sequences: 640} }},
	{feature: "training.checkpoint.save_optimizer=false", edit: func(j *job.Job) { j.Training.Checkpoint.SaveOptimizer = false }},
	{feature: "training.checkpoint.async", edit: func(j *job.Job) { j.Training.Checkpoint.Async = true }},
	{feature: "training.checkpoint.keep_last", edit: func(j *job.Job) { j.Training.Checkpoint.KeepLast = 3 }},
	{feature: "training.checkpoint.keep_last=1", edit: func(j *job.Job) { j.Training.Checkpoint.KeepLast = 1 }},
	{feature: "training.timeout.first_step", edit: func(j *job.Job) { j.Training.Timeout.FirstStep = 3600 }},
	{feature: "training.logging.timers", edit: func(j *job.Job) { j.Training.Logging.Timers = true }},
	{feature: "training.logging.memory", edit: func(j *job.Job) { j.Training.Logging.Memory = true }},
	{feature: "training.logging.norms", edit: func(j *job.Job) { j.Training.Logging.Norms = true }},
	{feature: "training.logging.stragglers", edit: func(j *job.Job) { j.Training.Logging.Stragglers = true }},
	{feature: "training.logging.profile.ranks", edit: func(j *job.Job) {
		j.Training.Logging.Profile = &job.Profile{StartStep: 1, EndStep: 2, Ranks: []int{1}, Tool: "torch"}
	}},
	{feature: "training.logging.profile.tool=nsys", edit: func(j *job.Job) {
		j.Training.Logging.Profile = &job.Profile{StartStep: 1, EndStep: 2, Tool: "nsys"}
	}},
	{feature: "training.rerun_mode", edit: func(j *job.Job) { j.Training.RerunMode = "disabled" }},
	{feature: "training.schedule.decay_shape=exponential", edit: func(j *job.Job) {
		j.Training.Schedule.Kind, j.Training.Schedule.DecayShape, j.Training.Schedule.DecaySteps = "wsd", "exponential", 10
	}},
	{feature: "training.schedule.decay_steps before the end", edit: func(j *job.Job) { j.Training.Schedule.DecaySteps = 50 }},
	{feature: "training.data.format=jsonl", edit: func(j *job.Job) {
		j.Training.Data.Format, j.Training.Data.Tokenizer = "jsonl", job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
	}},
	{feature: "training.data.format=tokens", edit: func(j *job.Job) { j.Training.Data.Format = "tokens" }},
	{feature: "training.data.document_mask", model: sinks, edit: func(j *job.Job) {
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs, j.Training.Data.Tokenizer = true, true, job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
	}},
	{feature: "training.data.document_mask", kind: titan, edit: func(j *job.Job) {
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs, j.Training.Data.Tokenizer = true, true, job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
	}},
	{feature: "training.data.document_mask", kind: ds, edit: func(j *job.Job) {
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs, j.Training.Data.Tokenizer = true, true, job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
	}},
	{feature: "training.data.document_mask with model.sliding_window", edit: func(j *job.Job) {
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs, j.Training.Data.Tokenizer = true, true, job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
		j.Model.Attention.SlidingWindow.Size = 128
	}},
	{feature: "training.data.document_mask with model.sliding_window", kind: titan, model: sinks, edit: func(j *job.Job) {
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs, j.Training.Data.Tokenizer = true, true, job.Tokenizer{Kind: "huggingface", Path: "/tokenizer"}
	}},
	{feature: "training.data.cache_path", edit: func(j *job.Job) { j.Training.Data.CachePath = "/cache" }},
	{feature: "training.data.tokenizer.end_of_document_id", edit: func(j *job.Job) {
		j.Training.Data.Tokenizer = job.Tokenizer{Kind: "huggingface", Path: "/tokenizer", EndOfDocumentID: job.Some(2)}
	}},
	{feature: "training.start.from=huggingface", edit: func(j *job.Job) { j.Training.Start = job.Start{From: "huggingface", Path: "/weights"} }},
	{feature: "training.start.reset_optimizer alone", edit: func(j *job.Job) {
		j.Training.Start = job.Start{From: "checkpoint", Path: "/weights", ResetOptimizer: true}
	}},
	{feature: "model.position_embedding=alibi", edit: func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "alibi"} }},
	{feature: "model.position_embedding=learned", edit: func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "learned"} }},
	{feature: "model.position_embedding=learned", kind: ds, model: gpt, edit: same},
	{feature: "model.position_embedding.partial", edit: func(j *job.Job) { j.Model.PositionEmbedding.Partial = 0.5 }},
	{feature: "model.position_embedding.partial", kind: ds, model: glm, edit: same},
	{feature: "model.position_embedding.partial with model.mla", model: latent, edit: func(j *job.Job) { j.Model.PositionEmbedding.Partial = 0.5 }},
	{feature: "model.position_embedding.scaling=linear", edit: func(j *job.Job) { j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "linear", Factor: 2.5} }},
	{feature: "model.position_embedding.scaling=linear", kind: "megatron", edit: func(j *job.Job) { j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "linear", Factor: 2} }},
	{feature: "model.position_embedding.scaling=llama3", model: qwen3, edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 32, OriginalLength: 256, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
	}},
	{feature: "model.position_embedding.scaling=llama3", kind: titan, edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 32, OriginalLength: 256, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
	}},
	{feature: "model.position_embedding.scaling=yarn", edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 4, OriginalLength: 256, BetaFast: 32, BetaSlow: 1}
	}},
	{feature: "model.position_embedding.scaling=yarn", kind: titan, model: sinks, edit: same},
	{feature: "model.position_embedding.scaling=yarn with model.mla", model: latent, edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 4, OriginalLength: 2048, BetaFast: 32, BetaSlow: 1, MScale: 1, MScaleAllDim: 1}
	}},
	{feature: "model.position_embedding.scaling with experts", model: experts, edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
	}},
	{feature: "model.position_embedding=rope", edit: same},
	{feature: "model.position_embedding=none with model.mla", model: latent, edit: func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "none"} }},
	{feature: "model.position_embedding=learned with model.mla", model: latent, edit: func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "learned"} }},
	{feature: "model.position_embedding=none", edit: func(j *job.Job) { j.Model.PositionEmbedding = job.PositionEmbedding{Kind: "none"} }},
	{feature: "model.normalization=rmsnorm", edit: func(j *job.Job) { j.Model.Architecture = "gpt"; j.Model.Activation.Kind = "swiglu" }},
	{feature: "model.normalization=rmsnorm", kind: ds, edit: same},
	{feature: "model.normalization=layernorm", edit: func(j *job.Job) { j.Model.Norm.Kind = "layernorm" }},
	{feature: "model.normalization=layernorm", kind: ds, model: gpt, edit: same},
	{feature: "model.zero_centered_norm", edit: func(j *job.Job) { j.Model.Norm.ZeroCentered = true }},
	{feature: "model.zero_centered_norm", kind: ds, model: gemma, edit: same},
	{feature: "model.post_norms", edit: func(j *job.Job) { j.Model.Norm.Post = true }},
	{feature: "model.post_norms", kind: ds, model: gemma, edit: same},
	{feature: "model.attention_logit_softcap", edit: func(j *job.Job) { j.Model.Attention.Softcap = 50 }},
	{feature: "model.attention_logit_softcap", kind: ds, model: gemma, edit: same},
	{feature: "model.final_logit_softcap", edit: func(j *job.Job) { j.Model.FinalSoftcap = 30 }},
	{feature: "model.final_logit_softcap", kind: ds, model: gemma, edit: same},
	{feature: "model.embedding_scale", edit: func(j *job.Job) { j.Model.EmbeddingScale = 16 }},
	{feature: "model.embedding_scale", kind: ds, model: gemma, edit: same},
	{feature: "model.attention_scale", edit: func(j *job.Job) { j.Model.Attention.Scale = 0.1 }},
	{feature: "model.attention_scale", kind: ds, model: gemma, edit: same},
	{feature: "model.activation=swiglu", edit: func(j *job.Job) { j.Model.Architecture = "gpt" }},
	{feature: "model.activation=swiglu", kind: ds, edit: same},
	{feature: "model.activation=gelu", edit: func(j *job.Job) { j.Model.Activation.Kind = "gelu" }},
	{feature: "model.activation=gelu", kind: ds, model: gpt, edit: same},
	{feature: "model.activation=geglu", edit: func(j *job.Job) { j.Model.Activation.Kind = "geglu" }},
	{feature: "model.activation=geglu", kind: ds, model: gemma, edit: same},
	{feature: "model.activation=relu2", edit: func(j *job.Job) { j.Model.Activation.Kind = "relu2" }},
	{feature: "model.activation_alpha=1.702", edit: func(j *job.Job) { j.Model.Activation.Alpha = 1.702 }},
	{feature: "model.activation_alpha=1.702", kind: titan, model: sinks, edit: same},
	{feature: "model.activation_alpha=1.702", kind: ds, model: sinks, edit: same},
	{feature: "model.activation_clamp", edit: func(j *job.Job) { j.Model.Activation.Clamp = 7 }},
	{feature: "model.activation_clamp", kind: titan, model: sinks, edit: same},
	{feature: "model.activation_clamp", kind: ds, model: sinks, edit: same},
	{feature: "model.activation_offset", edit: func(j *job.Job) { j.Model.Activation.Offset = 1 }},
	{feature: "model.activation_offset", kind: titan, model: sinks, edit: same},
	{feature: "model.activation_offset", kind: ds, model: sinks, edit: same},
	{feature: "model.attention_sinks", edit: func(j *job.Job) { j.Model.Attention.Sinks = true }},
	{feature: "model.attention_sinks", kind: titan, model: sinks, edit: same},
	{feature: "model.attention_sinks", kind: ds, model: sinks, edit: same},
	{feature: "model.activation_alpha", edit: func(j *job.Job) { j.Model.Activation.Alpha = 1.5 }},
	{feature: "model.dropout", edit: func(j *job.Job) { j.Model.Dropout = 0.1 }},
	{feature: "model.dropout", kind: ds, model: gpt, edit: func(j *job.Job) { j.Model.Dropout = 0.1 }},
	{feature: "model.sliding_window", model: experts, edit: func(j *job.Job) { j.Model.Attention.SlidingWindow.Size = 128 }},
	{feature: "model.sliding_window", kind: titan, model: sinks, edit: same},
	{feature: "model.sliding_window", kind: ds, edit: func(j *job.Job) { j.Model.Attention.SlidingWindow.Size = 128 }},
	{feature: "model.sliding_window", kind: ds, model: gemma, edit: same},
	{feature: "model.sliding_window", kind: ds, model: sinks, edit: same},
	{feature: "model.sliding_window.pattern", edit: func(j *job.Job) { j.Model.Attention.SlidingWindow = job.SlidingWindow{Size: 128, Pattern: 2} }},
	{feature: "model.sliding_window.pattern", kind: titan, model: sinks, edit: same},
	{feature: "model.sliding_window.pattern", kind: ds, model: gemma, edit: same},
	{feature: "model.sliding_window.pattern", kind: ds, model: sinks, edit: same},
	{feature: "model.attention_bias", model: mixtral, edit: func(j *job.Job) { j.Model.Attention.Bias, j.Model.MLPBias = true, true; j.Model.MoE.Router.Bias = true }},
	{feature: "model.attention_bias", kind: titan, model: sinks, edit: same},
	{feature: "model.attention_bias", kind: ds, edit: func(j *job.Job) { j.Model.Attention.Bias, j.Model.MLPBias = true, true }},
	{feature: "model.attention_bias", kind: ds, model: qwen3, edit: func(j *job.Job) { j.Model.Attention.Bias = true }},
	{feature: "model.attention_bias", kind: ds, model: gpt, edit: same},
	{feature: "model.attention_bias", kind: ds, model: sinks, edit: same},
	{feature: "model.mlp_bias", model: mixtral, edit: func(j *job.Job) { j.Model.Attention.Bias, j.Model.MLPBias = true, true; j.Model.MoE.Router.Bias = true }},
	{feature: "model.mlp_bias", kind: titan, model: sinks, edit: same},
	{feature: "model.mlp_bias", kind: ds, edit: func(j *job.Job) { j.Model.Attention.Bias, j.Model.MLPBias = true, true }},
	{feature: "model.mlp_bias", kind: ds, model: gpt, edit: same},
	{feature: "model.mlp_bias", kind: ds, model: sinks, edit: same},
	{feature: "model.attention_bias without mlp_bias", model: mixtral, edit: func(j *job.Job) { j.Model.Attention.Bias = true }},
	{feature: "model.attention_bias without mlp_bias", kind: ds, edit: func(j *job.Job) { j.Model.Attention.Bias = true }},
	{feature: "model.attention_bias without mlp_bias", kind: ds, model: qwen3, edit: func(j *job.Job) { j.Model.Attention.Bias = true }},
	{feature: "model.mlp_bias without attention_bias", model: qwen3, edit: func(j *job.Job) { j.Model.MLPBias = true }},
	{feature: "model.mlp_bias without attention_bias", kind: ds, edit: func(j *job.Job) { j.Model.MLPBias = true }},
	{feature: "model.attention_bias=false with model.attention_sinks", model: sinks, edit: func(j *job.Job) {
		j.Model.Attention.Bias, j.Model.MLPBias, j.Model.MoE.Router.Bias = false, false, false
	}},
	{feature: "model.qkv_bias", edit: func(j *job.Job) { j.Model.Attention.QKVBias = true }},
	{feature: "model.qkv_bias", kind: ds, model: qwen2, edit: same},
	{feature: "model.qkv_bias", kind: ds, model: glm, edit: same},
	{feature: "model.qkv_bias with mlp_bias", edit: func(j *job.Job) {
		j.Model.Attention.QKVBias, j.Model.Attention.Bias, j.Model.MLPBias = true, false, true
	}},
	{feature: "model.qk_norm", edit: func(j *job.Job) { j.Model.Attention.QKNorm = true }},
	{feature: "model.qk_norm", kind: ds, model: qwen3, edit: same},
	{feature: "model.qk_norm", kind: ds, model: experts, edit: same},
	{feature: "model.qk_norm", kind: ds, model: glm, edit: func(j *job.Job) { j.Model.Attention.QKNorm = true }},
	{feature: "model.qk_norm with model.mla", model: latent, edit: func(j *job.Job) { j.Model.Attention.QKNorm = true }},
	{feature: "model.qk_norm with model.attention_sinks", model: sinks, edit: func(j *job.Job) { j.Model.Attention.QKNorm = true }},
	{feature: "model.qk_norm=false", model: qwen3, edit: func(j *job.Job) { j.Model.Attention.QKNorm = false }},
	{feature: "model.qk_norm=false", kind: ds, edit: func(j *job.Job) { j.Model.Attention.QKNorm = false }},
	{feature: "model.tied_embeddings with model.attention_sinks", model: sinks, edit: func(j *job.Job) { j.Model.TiedEmbeddings = true }},
	{feature: "model.tied_embeddings with model.mla", model: latent, edit: func(j *job.Job) { j.Model.TiedEmbeddings = true }},
	{feature: "model.layer_pattern", edit: hybrid},
	{feature: "model.qk_norm with model.layer_pattern", edit: func(j *job.Job) { hybrid(j); j.Model.Attention.QKNorm = true }},
	{feature: "model.mla with model.layer_pattern", model: latent, edit: func(j *job.Job) { hybrid(j); j.Model.MTP.Layers = 0 }},
	{feature: "model.sliding_window with model.layer_pattern", edit: func(j *job.Job) { hybrid(j); j.Model.Attention.SlidingWindow.Size = 512 }},
	{feature: "model.position_embedding.scaling=yarn with model.layer_pattern", edit: func(j *job.Job) {
		hybrid(j)
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 8, OriginalLength: 512, BetaFast: 32, BetaSlow: 1, MScale: 1}
	}},
	{feature: "model.position_embedding.scaling=llama3 with model.layer_pattern", edit: func(j *job.Job) {
		hybrid(j)
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
	}},
	{feature: "model.mamba.conv_kernel", edit: func(j *job.Job) { hybrid(j); j.Model.Mamba.ConvKernel = 3 }},
	{feature: "model.attention_output_gate", edit: func(j *job.Job) { j.Model.Attention.Gate = true }},
	{feature: "model.attention_output_gate with model.mla", model: latent, edit: func(j *job.Job) { j.Model.Attention.Gate = true }},
	{feature: "model.moe.shared_expert_gate", model: latent, edit: func(j *job.Job) { j.Model.MoE.SharedExpertGate = true }},
	{feature: "model.moe.latent_size", model: experts, edit: func(j *job.Job) { j.Model.MoE.LatentSize = 128 }},
	{feature: "model.mtp_layers", edit: func(j *job.Job) { j.Model.MTP.Layers = 1 }},
	{feature: "model.mtp_layers with learned positions", edit: func(j *job.Job) {
		j.Model.MTP.Layers, j.Model.PositionEmbedding = 1, job.PositionEmbedding{Kind: "learned"}
	}},
	{feature: "model.mtp_layers with yarn", edit: func(j *job.Job) {
		j.Model.MTP.Layers = 1
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "yarn", Factor: 4, OriginalLength: 256, BetaFast: 32, BetaSlow: 1}
	}},
	{feature: "model.mla", model: latent, edit: func(j *job.Job) { j.Model.Architecture = "llama" }},
	{feature: "model.mla", kind: ds, model: latent, edit: same},
	{feature: "model.mla.q_lora_rank=0", model: latent, edit: func(j *job.Job) { j.Model.Attention.MLA.QLoraRank = 0 }},
	{feature: "model.position_embedding.scaling=llama3 with model.mla", model: latent, edit: func(j *job.Job) {
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
	}},
	{feature: "model.mla without experts", model: latent, edit: func(j *job.Job) { j.Model.MoE = nil }},
	{feature: "model.moe.token_drop", model: experts, edit: func(j *job.Job) { j.Model.MoE.TokenDrop, j.Model.MoE.CapacityFactor = true, 1 }},
	{feature: "model.moe.layer_frequency", model: mixtral, edit: func(j *job.Job) { j.Model.MoE.LayerFrequency = 2 }},
	{feature: "model.moe.layer_frequency", kind: ds, model: experts, edit: func(j *job.Job) { j.Model.MoE.LayerFrequency = 2 }},
	{feature: "model.moe.first_dense_layers", model: mixtral, edit: func(j *job.Job) { j.Model.MoE.FirstDenseLayers = 1 }},
	{feature: "model.moe.first_dense_layers", kind: titan, model: latent, edit: same},
	{feature: "model.moe.first_dense_layers", kind: ds, model: latent, edit: same},
	{feature: "model.moe.first_dense_layers", kind: ds, model: experts, edit: func(j *job.Job) { j.Model.MoE.FirstDenseLayers = 1 }},
	{feature: "model.moe.first_dense_layers", kind: ds, model: glm, edit: same},
	{feature: "model.moe.shared_experts", model: experts, edit: func(j *job.Job) {
		j.Model.MoE.SharedExperts, j.Model.MoE.SharedExpertFFNHiddenSize = 1, j.Model.MoE.ExpertFFNHiddenSize
	}},
	{feature: "model.moe.shared_experts with mlp_bias", model: experts, edit: func(j *job.Job) {
		j.Model.Attention.Bias, j.Model.MLPBias, j.Model.MoE.Router.Bias = true, true, true
		j.Model.MoE.SharedExperts, j.Model.MoE.SharedExpertFFNHiddenSize = 1, j.Model.MoE.ExpertFFNHiddenSize
	}},
	{feature: "model.moe.shared_experts", kind: ds, model: latent, edit: same},
	{feature: "model.moe.shared_experts", kind: ds, model: glm, edit: same},
	{feature: "model.moe.shared_expert_ffn_hidden_size", model: latent, edit: func(j *job.Job) { j.Model.MoE.SharedExpertFFNHiddenSize *= 2 }},
	{feature: "model.activation_alpha with model.attention_sinks", model: sinks, edit: func(j *job.Job) { j.Model.Activation.Alpha, j.Model.Activation.Offset = 1, 0 }},
	{feature: "model.sliding_window with model.attention_sinks", model: sinks, edit: func(j *job.Job) { j.Model.Attention.SlidingWindow = job.SlidingWindow{} }},
	{feature: "model.moe with model.attention_sinks", model: sinks, edit: func(j *job.Job) {
		j.Model.Attention.Bias, j.Model.MLPBias, j.Model.MoE.Router.Bias = false, false, false
		j.Model.MoE.SharedExperts, j.Model.MoE.SharedExpertFFNHiddenSize = 1, j.Model.MoE.ExpertFFNHiddenSize
	}},
	{feature: "model.moe.router.bias", model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Bias = true }},
	{feature: "model.moe.router.bias", kind: "megatron", model: sinks, edit: same},
	{feature: "model.moe.router.bias", kind: titan, model: sinks, edit: same},
	{feature: "model.moe.router.bias", kind: ds, model: sinks, edit: same},
	{feature: "model.moe.router.score=sigmoid", model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Score = "sigmoid" }},
	{feature: "model.moe.router.score=sigmoid", kind: ds, model: latent, edit: same},
	{feature: "model.moe.router.score=sigmoid", kind: ds, model: glm, edit: same},
	{feature: "model.moe.router.score=softmax", model: latent, edit: func(j *job.Job) { j.Model.MoE.Router.Score = "softmax"; j.Model.MoE.Router.Balance = "none" }},
	{feature: "model.moe.router.score=softmax", kind: ds, model: mixtral, edit: same},
	{feature: "model.moe.router.score=softmax", kind: ds, model: experts, edit: same},
	{feature: "model.moe.router.score=softmax", kind: ds, model: sinks, edit: same},
	{feature: "model.moe.router.balance=bias", model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Balance = "bias" }},
	{feature: "model.moe.router.balance=bias", kind: "megatron", model: latent, edit: same},
	{feature: "model.moe.router.balance=aux_loss", model: latent, edit: func(j *job.Job) { j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "aux_loss", 0.01 }},
	{feature: "model.moe.router.balance=aux_loss", kind: ds, model: mixtral, edit: func(j *job.Job) { j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "aux_loss", 0.01 }},
	{feature: "model.moe.router.balance=aux_loss", kind: ds, model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "aux_loss", 0.01 }},
	{feature: "model.moe.router.balance=aux_loss", kind: ds, model: sinks, edit: func(j *job.Job) { j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "aux_loss", 0.01 }},
	{feature: "model.moe.router.balance=global_aux_loss", model: experts, edit: func(j *job.Job) {
		j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "global_aux_loss", 0.01
	}},
	{feature: "model.moe.router.normalize=false with sigmoid", model: latent, edit: func(j *job.Job) { j.Model.MoE.Router.Normalize = false }},
	{feature: "model.moe.router.normalize=false with softmax", model: mixtral, edit: func(j *job.Job) { j.Model.MoE.Router.Normalize, j.Model.MoE.Router.PreSoftmax = false, true }},
	{feature: "model.moe.router.normalize=false with softmax", kind: ds, model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Normalize, j.Model.MoE.Router.PreSoftmax = false, true }},
	{feature: "model.moe.router.groups", model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.Groups, j.Model.MoE.Router.GroupTopK = 2, 1 }},
	{feature: "model.moe.router.groups", kind: ds, model: latent, edit: same},
	{feature: "model.moe.router.groups", kind: ds, model: glm, edit: same},
	{feature: "model.moe.router.scaling_factor", model: experts, edit: func(j *job.Job) { j.Model.MoE.Router.ScalingFactor = 2.5 }},
	{feature: "model.moe.router.scaling_factor", kind: ds, model: latent, edit: same},
	{feature: "model.moe.router.scaling_factor", kind: ds, model: glm, edit: same},
}

// buffered asks for buffers of fully sharded state.
func buffered(kind string) func(*job.Job) {
	return func(j *job.Job) {
		j.Constraints.Layout.ZeroStage, j.Execution.FullySharded, j.Execution.ShardBuffers = ints(3), job.Some(true), job.Some(kind)
	}
}
