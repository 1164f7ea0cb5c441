package torchtitan

import (
	"fmt"
	"math"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
)

// setting is one option of the framework: its path in the option table, its
// value (string, bool, int, float64, []string, [][]string, or a Python
// expression of 0.3.0) and where that comes from.
type setting struct {
	path  string
	value any
	why   string
}

// Origins of values, as comments in the files.
const (
	fromPlan      = "plan"
	fromExecution = "plan: execution"
)

// training are the options of the training loop that both versions share.
func (b *build) training() []setting {
	t, l := &b.j.Training, &b.p.Layout
	clip := t.Optimizer.GradientClipping
	if clip == 0 {
		clip = math.Inf(1) // clip_grad_norm_ would scale by max_norm = 0
	}
	param := "bfloat16"
	if t.Precision == "fp32" {
		param = "float32"
	}
	all := []setting{
		{"training.local_batch_size", localBatch(l), "plan: sequences per replica and forward-backward call"},
		{"training.global_batch_size", t.GlobalBatchSize, "spec: training.global_batch_size"},
		{"training.seq_len", b.j.Model.SequenceLength, "spec: model.sequence_length"},
		{"training.steps", t.Steps, "spec: " + b.counted("training.steps")},
		{"training.max_norm", clip, "spec: training.optimizer.gradient_clipping"},
	}
	all = append(all, b.options(inTraining)...)
	all = append(all,
		setting{"training.dtype", "float32", "master parameters"},
		setting{"training.mixed_precision_param", param, "spec: training.precision"})
	return append(all, b.options(inPrecision)...)
}

// counted is the path of a number of steps, or of the tokens by which the job says
// it.
func (b *build) counted(path string) string {
	if tokens := strings.Replace(path, "steps", "tokens", 1); b.j.Sources.IsSet(tokens) {
		return tokens
	}
	return path
}

// notDecayed names the parameters without weight decay:
// norms, biases and attention sinks.
const notDecayed = `(norm\.weight|bias[^.]*|sinks)$`

// schedule are the options of the learning rate.
func (b *build) schedule() []setting {
	t := &b.j.Training
	r := rateOf(t)
	s := []setting{{"lr_scheduler.warmup_steps", t.Schedule.WarmupSteps, "spec: " + b.counted("training.schedule.warmup_steps")}}
	if r.totalSteps > 0 {
		s = append(s, setting{"lr_scheduler.total_steps", r.totalSteps, "spec: warm-up and decay are longer than the run"})
	}
	if r.decayRatio != nil {
		s = append(s, setting{"lr_scheduler.decay_ratio", *r.decayRatio, "spec: " + b.counted("training.schedule.decay_steps") + " over those of the run"})
	}
	return append(s,
		setting{"lr_scheduler.decay_type", r.decayType, "spec: training.schedule"},
		setting{"lr_scheduler.min_lr_factor", r.minimum, "spec: training.schedule.minimum_learning_rate over the peak"})
}

// parallelism are the degrees of the layout.
func (b *build) parallelism(head string) []setting {
	l := &b.p.Layout
	s := []setting{
		{"parallelism.data_parallel_replicate_degree", l.DataParallelReplicate, fromPlan},
		{"parallelism.data_parallel_shard_degree", l.DataParallelShard, fromPlan},
	}
	s = append(s, b.options(inSharding)...)
	s = append(s,
		setting{"parallelism.tensor_parallel_degree", l.TensorParallel, fromPlan},
		setting{"parallelism.context_parallel_degree", l.ContextParallel, fromPlan},
		setting{"parallelism.context_parallel_load_balancer", "headtail", "causal attention: each rank gets a head and a tail of the sequence"},
		setting{"parallelism.expert_parallel_degree", l.ExpertParallel, fromPlan},
		setting{"parallelism.pipeline_parallel_degree", l.PipelineParallel, fromPlan},
		setting{"parallelism.pipeline_parallel_microbatch_size", l.MicroBatchSize, fromPlan})
	if l.PipelineParallel > 1 {
		s = append(s,
			setting{"parallelism.pipeline_parallel_schedule", b.v.scheduleNamed(l.PipelineSchedule), fromPlan},
			setting{"parallelism.module_fqns_per_model_part", stageModules(l, head), "plan: stage_layers"})
	}
	if isListed(l.PipelineSchedule) {
		s = append(s, setting{"parallelism.pipeline_parallel_schedule_csv",
			render.PythonExpression(`os.path.join(os.path.dirname(os.path.abspath(__file__)), "` + orderFile + `")`), "plan: pipeline_schedule " + l.PipelineSchedule.String()})
	}
	return s
}

// checkpoint are the options of saving and loading.
func (b *build) checkpoint() []setting {
	c, start := &b.j.Training.Checkpoint, &b.j.Training.Start
	if c.Path == "" {
		return []setting{{"checkpoint.enable", false, "spec: no checkpoint path"}}
	}
	interval, why := c.IntervalSteps, "spec: training.checkpoint.interval"
	if every, _ := b.saveEvery(); every > 0 {
		interval, why = max(1, b.j.Training.Steps), "by time, see the clock in "+jobModule+".py"
	}
	mode := "disabled"
	if c.Async {
		mode = "async"
	}
	_, export := exports(b.j)
	last := "the last checkpoint can be trained further"
	if export {
		last = "spec: extra_args; files of Hugging Face hold no optimizer"
	}
	s := []setting{
		{"checkpoint.enable", true, ""},
		{"checkpoint.folder", c.Path, "spec: training.checkpoint.path"},
		{"checkpoint.interval", interval, why},
		{"checkpoint.keep_latest_k", c.KeepLast, "spec: training.checkpoint.keep_last; 0 keeps all"},
		{"checkpoint.async_mode", mode, "spec: training.checkpoint.async"},
		{"checkpoint.last_save_model_only", export, last},
		{"checkpoint.export_dtype", "float32", "as trained"},
	}
	switch start.From {
	case "checkpoint":
		return append(s,
			setting{"checkpoint.initial_load_path", start.Path, "spec: training.start"},
			setting{"checkpoint.initial_load_model_only", start.ResetOptimizer, "spec: training.start"})
	case "huggingface":
		return append(s,
			setting{"checkpoint.initial_load_path", start.Path, "spec: training.start"},
			setting{"checkpoint.initial_load_model_only", true, "Hugging Face weights have no optimizer state"},
			setting{"checkpoint.initial_load_in_hf", true, "spec: training.start.from"})
	}
	return s
}

// metrics are the options of logging. Folders stand alone because the
// framework joins them to its dump folder, which an absolute path replaces.
func (b *build) metrics() []setting {
	g := &b.j.Training.Logging
	s := []setting{{"metrics.log_freq", max(1, g.Interval), "spec: training.logging.interval"},
		{"metrics.enable_tensorboard", g.TensorBoardPath != "", "spec: training.logging"}}
	if g.TensorBoardPath != "" {
		s = append(s, setting{"metrics.save_tb_folder", g.TensorBoardPath, "spec: training.logging"})
	}
	return append(s,
		setting{"metrics.enable_wandb", g.WandB != nil, "spec: training.logging"},
		setting{"metrics.disable_color_printing", true, "logs are files"})
}

// profile traces steps [start, end): the framework records the last
// profiler_active steps of every profile_freq.
func (b *build) profile(section string) []setting {
	p := b.j.Training.Logging.Profile
	if p == nil {
		return []setting{{section + ".enable_profiling", false, "spec: no training.logging.profile"}}
	}
	active := max(1, p.EndStep-p.StartStep)
	return []setting{
		{section + ".enable_profiling", true, "spec: training.logging.profile"},
		{section + ".profile_freq", max(p.EndStep, active), "spec: ends with the last traced step"},
		{section + ".profiler_active", active, "spec: steps traced"},
		{section + ".profiler_warmup", min(3, max(0, p.EndStep-active)), "steps before, not recorded"},
	}
}

// validationSteps is how many calls of local_batch_size sequences per replica
// make the batches that the job asks for; a batch is a global batch.
func (b *build) validationSteps() int {
	l := &b.p.Layout
	return max(1, b.j.Training.Data.Validation.Steps) * max(1, b.j.Training.GlobalBatchSize/(localBatch(l)*l.DataParallel()))
}

// timeouts grow with the node count: the first step compiles and connects all
// ranks, later ones wait for checkpoints written in between.
func (b *build) timeouts() []setting {
	nodes, t := b.j.Cluster.Nodes, &b.j.Training.Timeout
	first := setting{"comm.init_timeout_seconds", 1800 + nodes, "half an hour to compile and connect, a second per node"}
	later := setting{"comm.train_timeout_seconds", 900 + nodes, "a quarter of an hour to save a checkpoint, a second per node"}
	if t.Collective > 0 {
		later.value, later.why = int(t.Collective), "spec: training.timeout.collective"
		if first.value.(int) < int(t.Collective) {
			first.value, first.why = later.value, later.why
		}
	}
	if t.FirstStep > 0 {
		first.value, first.why = int(t.FirstStep), "spec: training.timeout.first_step"
	}
	return []setting{first, later}
}

// checkSettings tests every option against the table of the release.
func (b *build) checkSettings(all []setting) {
	for _, s := range all {
		if problem := b.v.options.Check(s.path, values(s.value)...); problem != nil {
			b.diags.Error(InvalidOption, diag.Range{}, "Option that the framework does not take", problem.Error())
		}
	}
}

// values spells a value for the option table. Lists of lists and expressions
// are checked by name only.
func values(v any) []string {
	switch v := v.(type) {
	case render.PythonExpression, [][]string:
		return []string{""}
	case []string:
		if len(v) == 0 {
			return []string{""}
		}
		return v
	case float64:
		return []string{render.Number(v)}
	}
	return []string{fmt.Sprint(v)}
}
