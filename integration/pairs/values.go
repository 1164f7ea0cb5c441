package pairs

import (
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/schedule"
	"github.com/ndc-dev/ndc/integration/drafts"
	"github.com/ndc-dev/ndc/lang/job"
)

// Value is one choice of one option.
type Value struct {
	Option string // as the language names it, without its block: moe_dispatcher
	Choice string
	set    func(d *drafts.Draft)
	// needs names what the choice is about nothing without, as option=choice; it
	// holds where the pair does not choose otherwise.
	needs []string
}

// Name is the value as tables and messages show it.
func (v *Value) Name() string { return v.Option + "=" + v.Choice }

// values are the choices whose pairs are asked. Options of frameworks alone and
// whole blocks of the language stand here once; TestValues holds them against
// the schema.
var values = concat(executionValues, layoutValues, trainingValues)

func concat(lists ...[]Value) (all []Value) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// text and flag make the values of an option of the execution block.
func text(option string, set func(x *job.Execution, v string), choices string, needs ...string) (list []Value) {
	for _, c := range strings.Fields(choices) {
		list = append(list, Value{option, c, func(d *drafts.Draft) { set(&d.Job.Execution, c) }, needs})
	}
	return list
}

func flag(option string, of func(x *job.Execution) *job.Optional[bool], needs ...string) []Value {
	return []Value{
		{option, "true", func(d *drafts.Draft) { *of(&d.Job.Execution) = job.Some(true) }, needs},
		{option, "false", func(d *drafts.Draft) { *of(&d.Job.Execution) = job.Some(false) }, nil},
	}
}

func count(option string, of func(x *job.Execution) *job.Optional[int], n int, needs ...string) []Value {
	return []Value{
		{option, "1", func(d *drafts.Draft) { *of(&d.Job.Execution) = job.Some(1) }, nil},
		{option, "8", func(d *drafts.Draft) { *of(&d.Job.Execution) = job.Some(n) }, needs},
	}
}

const (
	tensor  = "tensor_parallel=2"
	context = "context_parallel=2"
	experts = "expert_parallel=2"
)

var executionValues = concat(
	text("attention", func(x *job.Execution, v string) { x.Attention = job.Some(v) }, "flash fused unfused"),
	flag("overlap_gradient_reduce", func(x *job.Execution) *job.Optional[bool] { return &x.OverlapGradientReduce }),
	flag("overlap_parameter_gather", func(x *job.Execution) *job.Optional[bool] { return &x.OverlapParameterGather }),
	flag("overlap_tensor_parallel", func(x *job.Execution) *job.Optional[bool] { return &x.OverlapTensorParallel }, tensor),
	flag("overlap_expert_parallel", func(x *job.Execution) *job.Optional[bool] { return &x.OverlapExpertParallel }, experts),
	text("gradient_dtype", func(x *job.Execution, v string) { x.GradientDType = job.Some(v) }, "fp32 bf16"),
	text("optimizer_state_dtype", func(x *job.Execution, v string) { x.OptimizerStateDType = job.Some(v) }, "fp32 bf16 fp16 fp8"),
	text("cross_entropy", func(x *job.Execution, v string) { x.CrossEntropy = job.Some(v) }, "fused unfused"),
	count("loss_chunks", func(x *job.Execution) *job.Optional[int] { return &x.LossChunks }, 8),
	text("cuda_graphs", func(x *job.Execution, v string) { x.CUDAGraphs = job.Some(v) }, "none layer full"),
	flag("compile", func(x *job.Execution) *job.Optional[bool] { return &x.Compile }),
	text("moe_dispatcher", func(x *job.Execution, v string) { x.MoEDispatcher = job.Some(v) }, "allgather alltoall deepep hybridep", experts),
	text("context_parallel_type", func(x *job.Execution, v string) { x.ContextParallelType = job.Some(v) }, "ring all_gather ulysses", context),
	text("context_parallel_type", func(x *job.Execution, v string) { x.ContextParallelType = job.Some(v) }, "hierarchical", "context_parallel=16"),
	flag("reshard_after_forward", func(x *job.Execution) *job.Optional[bool] { return &x.ReshardAfterForward }, "zero_stage=3"),
	flag("fully_sharded", func(x *job.Execution) *job.Optional[bool] { return &x.FullySharded }, "zero_stage=3"),
	count("zero_hpz_partition", func(x *job.Execution) *job.Optional[int] { return &x.ZeroHPZPartition }, 8, "zero_stage=3"),
	flag("offload.optimizer", func(x *job.Execution) *job.Optional[bool] { return &x.OffloadOptimizer }),
	flag("offload.parameters", func(x *job.Execution) *job.Optional[bool] { return &x.OffloadParameters }, "zero_stage=3", "offload.optimizer=true"),
	flag("offload.activations", func(x *job.Execution) *job.Optional[bool] { return &x.OffloadActivations }),
)

// axis makes the values of a degree of the layout.
func axis(option string, of func(l *plan.Layout) *int, degrees ...int) (list []Value) {
	for _, n := range degrees {
		list = append(list, Value{option, itoa(n), func(d *drafts.Draft) { *of(&d.Layout) = n }, nil})
	}
	return list
}

func sequence(on bool, choice string) Value {
	return Value{"sequence_parallel", choice, func(d *drafts.Draft) { d.Layout.SequenceParallel = on }, []string{tensor}}
}

// pipelines are the schedules of the language with as many chunks as they take.
func pipelines() (list []Value) {
	for _, name := range option.FindAxis("pipeline_schedule").Values {
		s, _ := plan.ParseSchedule(name)
		chunks := 1
		if s == plan.ScheduleInterleaved1F1B || schedule.PlacementOf(s) == schedule.Vee {
			chunks = 2
		}
		list = append(list, Value{"pipeline_schedule", name, func(d *drafts.Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.PipelineSchedule = 2, chunks, s
		}, nil})
	}
	return list
}

func modules(list ...string) Value {
	return Value{"recompute", strings.Join(list, "+"), func(d *drafts.Draft) {
		d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModulesOf(list)
	}, nil}
}

func full(method string) Value {
	return Value{"recompute", method, func(d *drafts.Draft) {
		d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, method, 1
	}, nil}
}

var layoutValues = concat(
	axis("tensor_parallel", func(l *plan.Layout) *int { return &l.TensorParallel }, 1, 2),
	axis("context_parallel", func(l *plan.Layout) *int { return &l.ContextParallel }, 1, 2, 16),
	axis("expert_parallel", func(l *plan.Layout) *int { return &l.ExpertParallel }, 1, 2),
	axis("data_parallel_replicate", func(l *plan.Layout) *int { return &l.DataParallelReplicate }, 1, 2),
	axis("zero_stage", func(l *plan.Layout) *int { return &l.ZeroStage }, 0, 1, 2, 3),
	axis("micro_batch_size", func(l *plan.Layout) *int { return &l.MicroBatchSize }, 1, 2),
	pipelines(),
	[]Value{
		sequence(true, "true"), sequence(false, "false"),
		{"expert_tensor_parallel", "2", func(d *drafts.Draft) { d.Layout.ExpertTensorParallel = 2 }, []string{tensor, experts}},
		{"pipeline_schedule", "none", func(*drafts.Draft) {}, nil},
		{"pipeline_schedule", "uneven", func(d *drafts.Draft) {
			d.Layout.PipelineParallel, d.Layout.PipelineSchedule, d.Layout.StageLayers = 2, plan.Schedule1F1B, []int{5, 3}
		}, nil},
		{"pipeline_schedule", "uneven_interleaved", func(d *drafts.Draft) {
			d.Layout.PipelineParallel, d.Layout.VirtualPipeline, d.Layout.StageLayers = 2, 2, []int{2, 3, 2, 1}
			d.Layout.PipelineSchedule = plan.ScheduleInterleaved1F1B
		}, nil},
		{"recompute", "none", func(*drafts.Draft) {}, nil},
		full("uniform"), full("block"), modules("op"),
		modules("core_attn"), modules("layernorm"), modules("mla_up_proj"), modules("mlp"), modules("moe"), modules("moe_act"), modules("shared_experts"),
	},
)

// precision makes one with its recipe.
func precision(name, recipe string, needs ...string) Value {
	return Value{"precision", strings.TrimSuffix(name+"-"+recipe, "-"), func(d *drafts.Draft) {
		d.Job.Training.Precision, d.Job.Training.FP8.Recipe = name, recipe
	}, needs}
}

func optimizer(kind string, set func(o *job.Optimizer)) Value {
	return Value{"optimizer", kind, func(d *drafts.Draft) {
		d.Job.Training.Optimizer.Kind = kind
		set(&d.Job.Training.Optimizer)
	}, nil}
}

func gpu(name, capability string) Value {
	return Value{"gpu", name, func(d *drafts.Draft) { d.Job.Cluster.GPU.ComputeCapability = capability }, nil}
}

const (
	blackwell  = "gpu=b200"
	lowPrecise = "precision=fp8-tensorwise"
)

func as(*job.Optimizer) {}

var trainingValues = []Value{
	precision("bf16", ""), precision("fp16", ""), precision("fp32", ""),
	precision("fp8", "delayed"), precision("fp8", "tensorwise"), precision("fp8", "rowwise"), precision("fp8", "blockwise"),
	precision("mxfp8", "", blackwell), precision("nvfp4", "", blackwell),
	{"fp8.parameter_gather", "true", func(d *drafts.Draft) { d.Job.Training.FP8.ParameterGather = true }, []string{lowPrecise}},
	{"fp8.bf16_first_layers", "1", func(d *drafts.Draft) { d.Job.Training.FP8.BF16FirstLayers = 1 }, []string{lowPrecise}},
	gpu("a100", "8.0"), gpu("h100", "9.0"), gpu("b200", "10.0"),
	optimizer("adamw", as), optimizer("adam", as),
	optimizer("sgd", func(o *job.Optimizer) { o.Momentum = 0.9 }), optimizer("muon", func(o *job.Optimizer) { o.Momentum = 0.95 }),
	{"document_mask", "true", func(d *drafts.Draft) {
		d.Job.Training.Data.DocumentMask = true
		d.Job.Training.Data.Tokenizer.EndOfDocumentID = job.Some(0)
	}, nil},
	{"save_optimizer", "true", func(d *drafts.Draft) {
		d.Job.Training.Checkpoint.Path, d.Job.Training.Checkpoint.SaveOptimizer = "/checkpoints", true
	}, nil},
}
