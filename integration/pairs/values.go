package pairs

import (
	"slices"
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

// values are the choices whose pairs are asked: those of every execution option,
// and of the axes and the training arguments that options go with.
var values = concat(executionValues, layoutValues, trainingValues)

func concat(lists ...[]Value) (all []Value) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

const (
	tensor  = "tensor_parallel=2"
	context = "context_parallel=2"
	experts = "expert_parallel=2"
	sharded = "zero_stage=3"
)

// needs names what an option, or one choice of it, is about nothing without.
// What is switched off needs nothing.
var needs = map[string][]string{
	"overlap_optimizer_gather":           {"pipeline_schedule=interleaved_1f1b"},
	"overlap_tensor_parallel":            {tensor},
	"overlap_expert_parallel":            {experts},
	"moe_dispatcher":                     {experts},
	"context_parallel_type":              {context},
	"context_parallel_type=hierarchical": {"context_parallel=16"},
	"reshard_after_forward":              {sharded},
	"fully_sharded":                      {sharded},
	"shard_buffers=double":               {sharded},
	"shard_buffers=registered":           {sharded},
	"sharp=replicas":                     {"data_parallel_replicate=2", "zero_stage=1"},
	"zero_hpz_partition":                 {sharded},
	"offload.parameters":                 {sharded, "offload.optimizer=true"},
}

// together are the values that are asked of those that parts make.
var together = map[string][]string{
	"cuda_graphs": {"attention", "mlp", "moe_router", "moe_router+moe_preprocess", "attention+moe_router+moe_preprocess"},
}

// executionValues are those of every row of package option.
var executionValues = chosen()

func chosen() (list []Value) {
	for i := range option.Options {
		o := &option.Options[i]
		choices := slices.Concat(o.Values, together[o.Name])
		switch o.Kind {
		case option.Switch:
			choices = []string{"true", "false"}
		case option.Count:
			choices = []string{"1", "8"}
		}
		for _, c := range choices {
			setting, err := o.Setting(c)
			if err != nil {
				panic("pairs: " + err.Error())
			}
			v := Value{Option: o.Name, Choice: c, set: func(d *drafts.Draft) { setting.Pin(&d.Job.Execution) }}
			if own, ok := needs[v.Name()]; ok {
				v.needs = own
			} else if c != "false" && c != "1" {
				v.needs = needs[o.Name]
			}
			list = append(list, v)
		}
	}
	return list
}

// axis makes the values of a degree of the layout.
func axis(name string, degrees ...int) (list []Value) {
	of := option.FindAxis(name)
	for _, n := range degrees {
		list = append(list, Value{name, itoa(n), func(d *drafts.Draft) { *of.Value(&d.Layout).(*int) = n }, nil})
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

// recomputes are full recompute by every method, and selective recompute of every
// module alone.
func recomputes() (list []Value) {
	for _, method := range option.FindAxis("recompute_method").Values {
		list = append(list, Value{"recompute", method, func(d *drafts.Draft) {
			d.Layout.Recompute, d.Layout.RecomputeMethod, d.Layout.RecomputeLayers = plan.RecomputeFull, method, 1
		}, nil})
	}
	for _, module := range option.FindAxis("recompute_modules").Values {
		list = append(list, Value{"recompute", module, func(d *drafts.Draft) {
			d.Layout.Recompute, d.Layout.RecomputeModules = plan.RecomputeSelective, plan.ModulesOf([]string{module})
		}, nil})
	}
	return list
}

var layoutValues = concat(
	axis("tensor_parallel", 1, 2),
	axis("context_parallel", 1, 2, 16),
	axis("expert_parallel", 1, 2),
	axis("data_parallel_replicate", 1, 2),
	axis("zero_stage", 0, 1, 2, 3),
	axis("micro_batch_size", 1, 2),
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
	},
	recomputes(),
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
