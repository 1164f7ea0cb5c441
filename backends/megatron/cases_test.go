package megatron

import (
	"fmt"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// change builds a case out of a base job and a base layout.
type change struct {
	name    string
	version string
	edit    func(j *job.Job, l *plan.Layout)
}

// cases covers every feature of the emitter with a version that has it. The
// golden files show them and the conformance suite hands them to the real
// Megatron-LM.
var cases = []change{
	{"llama_tp4_pp2", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		l.TensorParallel, l.SequenceParallel, l.PipelineParallel = 4, true, 2
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
	}},
	{"qwen_biases", "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
		j.Model.Architecture, j.Model.Attention.QKVBias = "qwen2", true
		l.TensorParallel, l.SequenceParallel = 4, true
	}},
	{"llama_clamp_wandb", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model.Activation.Clamp = 7
		j.Training.Logging = job.Logging{WandB: &job.WandB{Project: "ndc"}, Timers: true}
	}},
	{"llama_quick_geglu", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model.MLPBias, j.Model.Attention.Bias = true, true
		j.Model.Activation = job.Activation{Kind: "swiglu", Alpha: 1.702, Clamp: 7, Offset: 1}
	}},
	{"mixtral_gelu", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Model.MLPBias, j.Model.Attention.Bias, j.Model.Activation.Kind, j.Model.MoE.Router.Bias = true, true, "gelu", true
		l.ExpertParallel = 8
	}},
	{"extra_in_place", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Checkpoint.Async = true
		j.Training.Timeout = job.Timeout{Collective: 900, FirstStep: 3600}
		j.Backend.ExtraArgs = []string{"--async-strategy", "nvrx", "--manual-gc-interval", "50", "--dataloader-type", "cyclic", "--tensorboard-queue-size", "5"}
	}},
	{"extra_format", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Backend.ExtraArgs = []string{"--ckpt-format", "torch"}
	}},
	{"llama_interleaved", "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
		l.TensorParallel, l.SequenceParallel, l.PipelineParallel, l.VirtualPipeline = 8, true, 4, 2
	}},
	{"llama_no_sequence_parallel", "core_v0.16.1", func(j *job.Job, l *plan.Layout) {
		l.TensorParallel = 2
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
	}},
	{"llama_zero0", "core_v0.17.1", func(j *job.Job, l *plan.Layout) { l.ZeroStage = 0 }},
	{"llama_instances", "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.DataParallelReplicate = 4 }},
	{"llama_context", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model.SequenceLength, j.Model.MaxPositions = 131072, 131072
		j.Model.PositionEmbedding.Scaling = &job.RopeScaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFrequencyFactor: 1, HighFrequencyFactor: 4}
		l.TensorParallel, l.SequenceParallel, l.ContextParallel = 4, true, 8
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "block", 16
	}},
	{"llama_context_hierarchical", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Execution.ContextParallelType = job.Some("hierarchical")
		l.TensorParallel, l.SequenceParallel, l.ContextParallel = 2, true, 8
	}},
	{"llama_fp8_delayed", "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
		j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "delayed"}
		l.TensorParallel, l.SequenceParallel = 2, true
	}},
	{"llama_fp8_tensorwise", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise", ParameterGather: true, BF16FirstLayers: 1, BF16LastLayers: 1}
	}},
	{"llama_fp8_blockwise", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
		j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "blockwise"}
	}},
	{"llama_mxfp8_blackwell", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		blackwell(j)
		j.Training.Precision, j.Training.FP8 = "mxfp8", job.FP8{ParameterGather: true}
		l.TensorParallel, l.SequenceParallel = 2, true
	}},
	{"llama_nvfp4_blackwell", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		blackwell(j)
		j.Training.Precision = "nvfp4"
	}},
	{"llama_fp16", "core_v0.16.1", func(j *job.Job, l *plan.Layout) {
		j.Training.Precision, j.Cluster.GPU = "fp16", job.GPU{Name: "a100_80gb", ComputeCapability: "8.0"}
	}},
	{"llama_fp32", "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Training.Precision, l.ZeroStage = "fp32", 0 }},
	{"llama_low_precision_states", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Execution.OptimizerStateDType = job.Some("bf16")
		j.Execution.GradientDType = job.Some("bf16")
	}},
	{"llama_offload", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Execution.OffloadOptimizer, j.Execution.OffloadActivations = job.Some(true), job.Some(true)
	}},
	{"llama_fsdp", "core_v0.18.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage = 3 }},
	{"llama_fsdp_registered", "core_v0.15.3", func(j *job.Job, l *plan.Layout) { l.ZeroStage, j.Execution.ShardBuffers = 3, job.Some("registered") }},
	{"llama_fsdp_replicate", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { l.ZeroStage, l.DataParallelReplicate = 2, 2 }},
	{"llama_fsdp_unsaved", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		l.ZeroStage, j.Training.Checkpoint = 3, job.Checkpoint{}
	}},
	{"llama_graphs_layer", "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("layer") }},
	{"llama_graphs_unsegmented", "core_v0.15.3", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("layer") }},
	{"mixtral_graphs_modules", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Execution.CUDAGraphs = job.Some("attention+moe_router+moe_preprocess")
		l.ExpertParallel, l.Recompute, l.RecomputeModules = 8, plan.RecomputeSelective, plan.ModuleNorm|plan.ModuleExpertActivation
	}},
	{"mixtral_graphs_scopes", "core_v0.16.1", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Execution.CUDAGraphs = job.Some("moe_router")
		l.ExpertParallel = 8
	}},
	{"mixtral_graphs_static", "core_v0.18.2", static},
	{"gpt_oss_graphs_static", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		static(j, l)
		j.Model, j.Execution.OverlapExpertParallel = gptOSS(), job.Some(true)
		j.Backend.ExtraArgs = []string{"--moe-expert-rank-capacity-factor", "2"}
	}},
	{"llama_graphs_full", "core_v0.17.1", func(j *job.Job, l *plan.Layout) { j.Execution.CUDAGraphs = job.Some("full") }},
	{"llama_tp_overlap", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		l.TensorParallel, l.SequenceParallel = 8, true
		j.Execution.OverlapTensorParallel = job.Some(true)
	}},
	{"llama_muon", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Optimizer.Kind, j.Training.Optimizer.Momentum = "muon", 0.95
	}},
	{"llama_sgd_wsd", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Optimizer.Kind, j.Training.Optimizer.Momentum, l.ZeroStage = "sgd", 0.9, 0
		j.Training.Checkpoint.SaveOptimizer = false
		j.Training.Schedule = job.Schedule{Kind: "wsd", WarmupSteps: 10, DecaySteps: 200, DecayShape: "minus_sqrt"}
	}},
	{"llama_ramp", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Data.Validation = &job.Validation{Interval: 100, Steps: 10}
		j.Training.BatchRamp = &job.BatchRamp{Start: 64, Increment: 64, Sequences: 8192}
	}},
	{"llama_ramp_before", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
		j.Training.BatchRamp = &job.BatchRamp{Start: 64, Increment: 64, Sequences: 8192}
	}},
	{"llama_warmup", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Schedule = job.Schedule{Kind: "cosine", WarmupSteps: j.Training.Steps}
	}},
	{"llama_data", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		data(j, l)
		j.Training.Logging.Memory = true
	}},
	{"llama_validation_path", "core_v0.16.1", func(j *job.Job, l *plan.Layout) {
		data(j, l)
		j.Training.Data.Validation = &job.Validation{Path: "/data/valid_text_document", Interval: 100, Steps: 10}
	}},
	{"llama_continue", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Training.Start = job.Start{From: "checkpoint", Path: "/checkpoints/other"}
		j.Training.Checkpoint.Async = true
	}},
	{"llama_weights", "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
		j.Training.Start = job.Start{From: "checkpoint", Path: "/checkpoints/other", ResetOptimizer: true, ResetSchedule: true, ResetData: true}
	}},
	{"llama_document_mask", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		data(j, l)
		j.Training.Data.DocumentMask = true
		j.Training.Data.Tokenizer = job.Tokenizer{Kind: "tiktoken", Path: "/data/tokenizers/vocabulary.json"}
	}},
	{"gpt_learned", "core_v0.16.1", func(j *job.Job, l *plan.Layout) {
		j.Model = gpt()
		l.TensorParallel, l.SequenceParallel, l.PipelineParallel = 2, true, 4
	}},
	{"gpt_squared_relu", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model = gpt()
		j.Model.Activation.Kind = "relu2"
	}},
	{"gpt_uneven", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
		j.Model = gpt()
		l.PipelineParallel, l.StageLayers = 4, []int{8, 10, 10, 8}
	}},
	{"qwen3", "core_v0.18.2", func(j *job.Job, l *plan.Layout) { j.Model = qwen3(); l.TensorParallel, l.SequenceParallel = 4, true }},
	{"mixtral", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		l.TensorParallel, l.SequenceParallel, l.PipelineParallel, l.ExpertParallel = 2, true, 2, 4
	}},
	{"mixtral_offload_recompute", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { // experts that run again are not offloaded
		j.Model = mixtral()
		l.ExpertParallel = 8
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleNorm|plan.ModuleMoE
		j.Execution.OffloadActivations = job.Some(true)
	}},
	{"mixtral_offload_graphs", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { // what experts keep alone
		j.Model, l.ExpertParallel = mixtral(), 8
		j.Execution.CUDAGraphs, j.Execution.OffloadActivations = job.Some("attention+moe_router+moe_preprocess"), job.Some(true)
	}},
	{"mixtral_etp", "core_v0.15.3", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Model.MoE.Router.Balance = "global_aux_loss"
		j.Execution.MoEDispatcher = job.Some("deepep")
		l.TensorParallel, l.SequenceParallel, l.ExpertParallel, l.ExpertTensorParallel = 2, true, 4, 2
	}},
	{"mixtral_hybridep_overlap", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Execution.MoEDispatcher, j.Execution.OverlapExpertParallel = job.Some("hybridep"), job.Some(true)
		l.PipelineParallel, l.VirtualPipeline, l.ExpertParallel = 2, 4, 8
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleNorm|plan.ModuleExpertActivation
	}},
	{"mixtral_drop_fp8", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
		j.Model = mixtral()
		j.Model.MoE.TokenDrop, j.Model.MoE.CapacityFactor = true, 1.25
		j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise"}
		l.ExpertParallel = 8
	}},
	{"deepseek_v3", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Model, j.Cluster.Nodes, j.Training.GlobalBatchSize = deepseek(), 256, 15360
		l.PipelineParallel, l.ExpertParallel = 16, 64
		l.StageLayers = []int{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleNorm|plan.ModuleLatentUp|plan.ModuleExpertActivation
	}},
	{"deepseek_v3_interleaved", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model, j.Cluster.Nodes, j.Training.GlobalBatchSize = deepseek(), 128, 8192
		l.TensorParallel, l.SequenceParallel = 2, true
		l.PipelineParallel, l.VirtualPipeline, l.ExpertParallel = 8, 2, 64
		l.StageLayers = []int{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}
	}},
	{"hybrid", "core_v0.17.1", func(j *job.Job, l *plan.Layout) {
		j.Model = nemotronH()
		l.TensorParallel, l.SequenceParallel = 4, true
		l.Recompute, l.RecomputeModules = plan.RecomputeSelective, plan.ModuleCoreAttention
	}},
	{"hybrid_pipeline", "core_v0.18.2", func(j *job.Job, l *plan.Layout) {
		j.Model = nemotronH()
		l.TensorParallel, l.SequenceParallel, l.PipelineParallel, l.VirtualPipeline = 2, true, 2, 2
		l.StageLayers = []int{12, 14, 14, 12}
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers = plan.RecomputeFull, "uniform", 1
	}},
	{"hybrid_experts", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model = nemotronMoE()
		j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "tensorwise"}
		l.TensorParallel, l.SequenceParallel, l.ExpertParallel = 2, true, 8
	}},
	{"hybrid_delta_net", "core_v0.19.2", func(j *job.Job, l *plan.Layout) {
		j.Model = qwen3Next()
		l.PipelineParallel, l.ExpertParallel = 2, 8
	}},
	{"gpt_oss", "core_v0.19.2", func(j *job.Job, l *plan.Layout) { j.Model = gptOSS(); l.ExpertParallel = 8 }},
}

func blackwell(j *job.Job) {
	j.Cluster.GPU = job.GPU{Name: "b200", ComputeCapability: "10.0"}
}

// data reads a blend with paths that would hurt an unquoted script.
func data(j *job.Job, l *plan.Layout) {
	j.Training.Data = job.Data{
		Format: "megatron",
		Sources: []job.DataSource{
			{Name: "code", Path: "${HOME}/data/code; rm -rf $(pwd)", Weight: 0.25},
			{Name: "web", Path: "/data/it's \"web\" äöü", Weight: 0.75},
		},
		Validation: &job.Validation{Interval: 250, Steps: 20},
		Tokenizer:  job.Tokenizer{Kind: "huggingface", Path: "/data/tokenizers/llama3"},
		Workers:    4,
	}
	j.Training.Logging = job.Logging{
		Interval: 5, TensorBoardPath: "/logs/tb", Timers: true, Norms: true, WandB: &job.WandB{Project: "ndc", Entity: "team", Mode: "offline"},
		Profile: &job.Profile{StartStep: 20, EndStep: 22, Tool: "torch"},
	}
}

// launches builds all cases, plus the plain ones on every release.
func launches() []launch {
	var all []launch
	build := func(c change) {
		j, l := baseJob(c.version), base()
		c.edit(j, &l)
		j.Name = c.name
		all = append(all, launch{c.name, j, finish(j, l)})
	}
	for _, c := range cases {
		build(c)
	}
	for i := range versions {
		v := &versions[i]
		for _, c := range cases {
			if c.version != v.name && portable[c.name] {
				build(change{fmt.Sprintf("%s@%s", c.name, v.name), v.name, c.edit})
			}
		}
	}
	return all
}

// portable are the cases that every release can run.
var portable = map[string]bool{
	"llama_tp4_pp2": true, "llama_interleaved": true, "llama_context": true, "llama_fsdp": true, "llama_instances": true,
	"llama_fp8_tensorwise": true, "llama_low_precision_states": true, "llama_weights": true, "llama_validation_path": true,
	"gpt_learned": true, "gpt_uneven": true, "qwen3": true, "mixtral": true, "mixtral_etp": true, "mixtral_drop_fp8": true, "deepseek_v3": true,
	"deepseek_v3_interleaved": true,
}
