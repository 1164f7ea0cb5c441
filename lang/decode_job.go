package lang

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

func decodeBackend(b *block) job.Backend {
	return job.Backend{Kind: b.labelOr(""), Version: b.text("version"), Path: b.text("path"), Required: b.flag("required"), ExtraArgs: b.list("extra_args"), Environment: b.vars("environment")}
}

// ownPath appends a job's own folder, because no two share one: the backend's
// name, behind that of the element where there is for_each.
func ownPath(p, folder string) string {
	if p == "" {
		return ""
	}
	if strings.Contains(p, "://") { // path.Join would eat a slash
		return strings.TrimRight(p, "/") + "/" + folder
	}
	return path.Join(p, folder)
}

func decodeTraining(b *block, folder string) job.Training {
	t := job.Training{
		GlobalBatchSize: b.count("global_batch_size"), Precision: b.text("precision"), Seed: b.count("seed"), RerunMode: b.text("rerun_mode"),
		FP8:       decodeFP8(b),
		Optimizer: decodeOptimizer(b.child("optimizer")),
		Data:      decodeData(b.child("data")),
		Logging:   decodeLogging(b.child("logging"), folder),
	}
	if r := b.find("batch_ramp"); r != nil {
		t.BatchRamp = &job.BatchRamp{Start: r.count("start"), Increment: r.count("increment"), Sequences: get[int64](r, "sequences")}
	}
	s := b.child("start")
	t.Start = job.Start{From: s.text("from"), Path: s.text("path"), ResetOptimizer: s.flag("reset_optimizer"), ResetSchedule: s.flag("reset_schedule"), ResetData: s.flag("reset_data")}
	limit := b.child("timeout")
	t.Timeout = job.Timeout{Collective: limit.seconds("collective"), FirstStep: limit.seconds("first_step")}
	if c := b.find("checkpoint"); c != nil {
		t.Checkpoint = decodeCheckpoint(c, folder)
	}
	return t
}

func decodeFP8(b *block) job.FP8 {
	recipe := ""
	if b.text("precision") == "fp8" {
		recipe = "tensorwise"
	}
	f := b.child("fp8")
	return job.FP8{
		Recipe: f.textOr("recipe", recipe), ParameterGather: f.flag("parameter_gather"),
		BF16FirstLayers: f.count("bf16_first_layers"), BF16LastLayers: f.count("bf16_last_layers"),
	}
}

func decodeOptimizer(b *block) job.Optimizer {
	decay, momentum := 0.0, 0.0
	switch b.label {
	case "adamw":
		decay = 0.1
	case "muon":
		decay, momentum = 0.1, 0.95
	case "sgd":
		momentum = 0.9
	}
	o := job.Optimizer{
		Kind: b.labelOr(""), LearningRate: b.number("learning_rate"), WeightDecay: b.numberOr("weight_decay", decay),
		GradientClipping: b.number("gradient_clipping"), Momentum: b.numberOr("momentum", momentum),
	}
	if o.Kind != "sgd" {
		o.Beta1, o.Beta2, o.Epsilon = b.number("beta1"), b.number("beta2"), b.number("epsilon")
	}
	return o
}

func decodeData(b *block) job.Data {
	d := job.Data{
		Format: b.text("format"), Split: b.text("split"), ResetPositionIDs: b.flag("reset_position_ids"), DocumentMask: b.flag("document_mask"),
		Workers: b.count("workers"), CachePath: b.text("cache_path"), Mock: b.flag("mock"),
	}
	total := 0.0
	for _, s := range b.all("source") {
		source := job.DataSource{Name: s.label, Path: s.text("path"), Weight: s.number("weight")}
		total += source.Weight
		d.Sources = append(d.Sources, source)
	}
	// Shares stay as they are written: what was divided once, as in a launch that is imported, is not divided again.
	if total > 0 && !math.IsInf(total, 0) && math.Abs(total-1) > 1e-12 {
		for i := range d.Sources {
			d.Sources[i].Weight /= total
		}
	}
	if total > 0 { // else none has a weight, which is reported
		d.Sources = slices.DeleteFunc(d.Sources, func(s job.DataSource) bool { return s.Weight == 0 })
	}
	slices.SortFunc(d.Sources, func(a, b job.DataSource) int { return strings.Compare(a.Name, b.Name) })
	if v := b.find("validation"); v != nil {
		d.Validation = &job.Validation{Path: v.text("path"), Interval: v.count("interval"), Steps: v.count("steps")}
	}
	t := b.child("tokenizer")
	d.Tokenizer = job.Tokenizer{Kind: t.labelOr("none"), Path: t.text("path"), EndOfDocumentID: t.optionalCount("end_of_document_id")}
	return d
}

func decodeCheckpoint(b *block, folder string) job.Checkpoint {
	every := get[interval](b, "interval")
	return job.Checkpoint{
		Path:          ownPath(b.text("path"), folder),
		IntervalSteps: int(every.steps), IntervalTime: every.time,
		KeepLast: b.count("keep_last"), SaveOptimizer: b.flag("save_optimizer"), Async: b.flag("async"),
	}
}

func decodeLogging(b *block, folder string) job.Logging {
	g := job.Logging{Interval: b.count("interval"), TensorBoardPath: ownPath(b.text("tensorboard_path"), folder),
		Timers: b.flag("timers"), Memory: b.flag("memory"), Norms: b.flag("norms"), Stragglers: b.flag("stragglers"), OneLog: !b.flag("per_rank")}
	if w := b.find("wandb"); w != nil {
		g.WandB = &job.WandB{Project: w.text("project"), Entity: w.text("entity"), Mode: w.text("mode")}
	}
	if p := b.find("profile"); p != nil {
		g.Profile = &job.Profile{StartStep: p.count("start_step"), EndStep: p.count("end_step"), Ranks: get[[]int](p, "ranks"), Tool: p.text("tool")}
	}
	return g
}

func decodeConstraints(b *block) job.Constraints {
	return job.Constraints{
		MemoryHeadroom:          optional[units.Share](b, "memory_headroom"),
		MaxOOMProbability:       decodeOOM(b.child("max_oom_probability")),
		Objective:               b.text("objective"),
		MaxTrainingTime:         optional[units.Seconds](b, "max_training_time"),
		MaxGPUHours:             optional[float64](b, "max_gpu_hours"),
		MaxCost:                 optional[float64](b, "max_cost"),
		MaxExposedCommunication: optional[units.Share](b, "max_exposed_communication"),
		MinMFU:                  optional[float64](b, "min_mfu"),
		NVLinkOnly:              b.list("nvlink_only"),
		Prefer:                  b.list("prefer"),
		Avoid:                   b.list("avoid"),
		Layout:                  decodeLayout(b.child("layout")),
	}
}

func decodeOOM(b *block) job.OOMProbability {
	return job.OOMProbability{Start: optional[float64](b, "start"), Run: optional[float64](b, "run")}
}

func decodeLayout(b *block) (c job.LayoutConstraints) {
	for i := range option.Axes {
		a := &option.Axes[i]
		b.fill(a.Name, a.Choice(&c))
	}
	return c
}

// decodeExecution reads the options of execution, and apart from them those of
// which several values are written; nil when there are none.
func decodeExecution(b *block) (x job.Execution, choices map[string][]string) {
	for i := range option.Options {
		o := &option.Options[i]
		in, name := b.with(o.Name)
		values := in.several(name)
		if values == nil {
			in.fill(name, o.Choice(&x))
			continue
		}
		if choices == nil {
			choices = map[string][]string{}
		}
		for _, v := range values {
			choices[o.Name] = append(choices[o.Name], fmt.Sprint(v))
		}
	}
	return x, choices
}

// with finds the block in which an option of execution stands, and its name there.
func (b *block) with(name string) (*block, string) {
	if block, nested, ok := strings.Cut(name, "."); ok {
		return b.child(block), nested
	}
	return b, name
}

func decodeSlurm(b *block) job.Slurm {
	s := job.Slurm{
		Account: b.text("account"), Partition: b.text("partition"), QOS: b.text("qos"), Reservation: b.text("reservation"),
		Time:     b.seconds("time"),
		NodeList: b.text("nodelist"), Exclude: b.text("exclude"), Constraint: b.text("constraint"),
		GPUsDirective: b.text("gpus_directive"), CPUsPerTask: b.count("cpus_per_task"), Memory: b.text("memory"),
		Exclusive: optional[bool](b, "exclusive"), Requeue: optional[bool](b, "requeue"),
		Chain: get[job.Chain](b, "chain"), Segment: b.count("segment"),
		Directives: b.vars("directives"), Environment: b.vars("environment"), EnvFile: b.text("env_file"),
		Modules: b.list("modules"), Setup: b.list("setup"),
		LogPath: b.text("log_path"), Signal: b.text("signal"), Bind: b.text("bind"), Launcher: b.text("launcher"), HangTimeout: get[job.Silence](b, "hang_timeout"), SpareNodes: b.count("spare_nodes"), CheckSpeed: optional[bool](b, "check_speed"),
	}
	if n := b.find("node_check"); n != nil {
		s.NodeCheck = &job.NodeCheck{Command: n.text("command"), Timeout: n.seconds("timeout")}
	}
	c := b.child("container")
	s.Container = job.Container{
		Image: c.text("image"), Mounts: c.list("mounts"), WorkDir: c.text("workdir"), Runtime: c.text("runtime"), MountHome: c.flag("mount_home"),
	}
	return s
}
