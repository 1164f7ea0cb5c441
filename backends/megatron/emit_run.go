package megatron

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// checkStart reports weights that the release cannot start from.
func checkStart(v *version, j *job.Job, diags *diag.List) {
	s := &j.Training.Start
	at := j.Sources.Range("training.start")
	switch s.From {
	case "huggingface":
		diags.Error(UnsupportedStart, at, "Megatron-LM cannot start from these weights",
			"Megatron-LM reads its own checkpoints only. Convert the Hugging Face weights once, with Megatron-Bridge (AutoBridge.import_ckpt) or tools/checkpoint/convert.py of "+v.name+" (--model-type GPT --loader llama_mistral --saver core), then set from = \"checkpoint\" with the folder of the result and reset_optimizer, reset_schedule and reset_data = true. "+capability.Offers("training.start.from=huggingface"))
	case "checkpoint":
		if s.ResetOptimizer != s.ResetSchedule || s.ResetSchedule != s.ResetData {
			diags.Error(UnsupportedStart, at, "Megatron-LM cannot start from these weights",
				fmt.Sprintf("Megatron-LM either continues a checkpoint or takes only its weights (--finetune): reset_optimizer, reset_schedule and reset_data must be alike, not %t, %t and %t. %s", s.ResetOptimizer, s.ResetSchedule, s.ResetData, capability.Offers("training.start.reset_optimizer alone")))
		}
		if !s.ResetOptimizer && j.Training.Optimizer.Kind == "sgd" {
			diags.Error(UnsupportedStart, at, "Megatron-LM cannot start from these weights",
				"Megatron-LM cannot load the momentum of sgd (TypeError). Set reset_optimizer, reset_schedule and reset_data = true.")
		}
	}
}

func checkCheckpoint(v *version, j *job.Job, diags *diag.List) {
	c := &j.Training.Checkpoint
	if c.KeepLast > 1 {
		diags.Error(UnsupportedCheckpoint, j.Sources.Range("training.checkpoint.keep_last"), "Megatron-LM cannot save like this",
			"Megatron-LM keeps all checkpoints, or the newest and, with extra_args = [\"--save-retain-interval\", \"N\"], those of every N steps. Leave keep_last out, or set keep_last = 1. "+capability.Offers("training.checkpoint.keep_last"))
	}
	again := j.Slurm.Chain.IsSet() || j.Slurm.Requeue.Value
	sgd := j.Training.Optimizer.Kind == "sgd" // init_state_fn is None of it, and called to load (core/optimizer/__init__.py and optimizer.py)
	switch {
	case c.Path == "":
	case sgd && again:
		diags.Error(UnsupportedCheckpoint, j.Sources.Range("training.optimizer"), "Megatron-LM cannot resume this",
			"Megatron-LM saves the momentum of sgd and cannot load it (TypeError), and a chain, or a job that Slurm queues again, resumes from its checkpoints. Take adamw, or submit once, without requeue and with save_optimizer = false.")
	case sgd && c.SaveOptimizer:
		diags.Error(UnsupportedCheckpoint, j.Sources.Range("training.checkpoint.save_optimizer"), "Megatron-LM cannot save like this",
			"Megatron-LM saves the momentum of sgd and cannot load it: a run ends where it resumes (TypeError). Set save_optimizer = false to keep the weights, or take adamw.")
	case again && !c.SaveOptimizer:
		diags.Error(UnsupportedCheckpoint, j.Sources.Range("training.checkpoint.save_optimizer"), "Megatron-LM cannot save like this",
			"A chain, and a job that Slurm queues again, resumes from its checkpoints and needs the optimizer in them. Set save_optimizer = true.")
	}
}

// checkTimeout: Megatron-LM counts the time until the first step is done in
// minutes.
func checkTimeout(_ *version, j *job.Job, diags *diag.List) {
	if first := float64(j.Training.Timeout.FirstStep); math.Mod(first, 60) != 0 {
		diags.Error(UnsupportedTimeout, j.Sources.Range("training.timeout.first_step"), "Megatron-LM cannot wait that long",
			fmt.Sprintf("--distributed-timeout-minutes takes whole minutes, not %g s. Set first_step = \"%.0fm\".", first, math.Ceil(first/60)))
	}
}

// checkLogging: before --log-memory-interval the allocator's memory is in the log once,
// and timers wait for the GPU, which no graph can record (core/timers.py).
func checkLogging(v *version, j *job.Job, diags *diag.List) {
	if j.Training.Logging.Timers && asksWholeStep(j) {
		diags.Error(UnsupportedLogging, j.Sources.Range("training.logging.timers"), "A graph of the whole step cannot be timed in parts",
			"Megatron-LM's timers wait for the GPU, which cannot be recorded in a CUDA graph. Remove timers = true, or \"full\" from execution.cuda_graphs.")
	}
	if j.Training.Logging.Memory && !v.options.Has("--log-memory-interval") {
		diags.Error(UnsupportedLogging, j.Sources.Range("training.logging.memory"), "Megatron-LM cannot report it with every line",
			fmt.Sprintf("%s tells of the allocator's memory after the first steps alone. %s Or remove memory = true.", v.name, capability.Alternatives("training.logging.memory")))
	}
}

// setup are the lines of the node script before torchrun: where the checkout
// is, and what to load.
func setup(v *version, j *job.Job, p *plan.Plan) []string {
	script := v.script(&j.Model)
	lines := []string{megatronPath(j), `[[ -f "$MEGATRON_PATH/` + script + `" ]] || die "no ` + script + ` in MEGATRON_PATH=$MEGATRON_PATH"`}
	s, saves, continues := &j.Training.Start, j.Training.Checkpoint.Path != "", continues(j)
	if saves {
		lines = append(lines, tracker(j, lastFile(j, p)), done(j))
	}
	switch {
	case saves && continues:
		lines = append(lines,
			`load=${tracker%/*}`,
			`[[ -s $tracker || -n $step ]] || load=`+render.ExpandingPath(s.Path).String()+` # first launch: the run starts from here`)
	case continues:
		lines = append(lines, "step='' trained='' load="+render.ExpandingPath(s.Path).String())
	}
	if shifts(j) {
		lines = append(lines, traced(j))
	}
	return lines
}

// continues tells whether a run goes on from another's checkpoint, at its step.
func continues(j *job.Job) bool {
	return j.Training.Start.From == "checkpoint" && !j.Training.Start.ResetOptimizer
}

// shifts tells whether a launch may trace other steps than it is told to.
func shifts(j *job.Job) bool {
	profile := j.Training.Logging.Profile
	return profile != nil && profile.Tool == "torch" && (j.Training.Checkpoint.Path != "" || continues(j))
}

// traced says by how much the steps that torch's profiler traces are shifted in a launch
// that goes on from a checkpoint: it counts the steps of the launch, but is stopped at a
// step of the run, which ends the launch where the profiler is recording, or about to
// (megatron/training/training.py; torch/profiler/profiler.py). Such a launch traces
// nothing, nor does one that goes on behind the steps to trace.
func traced(j *job.Job) string {
	tracker, read, profile := "$tracker", "", j.Training.Logging.Profile
	if continues(j) {
		tracker = "$load/latest_checkpointed_iteration.txt"
		read = `
  [[ ! -s ` + tracker + ` ]] || read -r -n 64 trained <"` + tracker + `" || true`
	}
	return fmt.Sprintf(`later=0 # torch's profiler counts the steps of a launch, from where this one goes on
if [[ -s %s || -n $step ]]; then%s
  now=$(number "$trained") || now=0
  [[ $now -eq 0 ]] || later=$((now < %d && now > %d ? -now : %d))
fi`, tracker, read, profile.StartStep, profile.EndStep-profile.StartStep+1, j.Training.Steps)
}

// tracker names the file that names the newest checkpoint, and mends it:
// Megatron-LM empties it before it writes, and ends at once, with success, when
// it finds it empty. All nodes look, so that they agree whether or not the first
// has mended it yet. A format without a last file is not mended.
func tracker(j *job.Job, last string) string {
	name := "tracker=" + render.ExpandingPath(j.Training.Checkpoint.Path).String() + "/latest_checkpointed_iteration.txt\nstep=''"
	if last == "" {
		return name
	}
	return name + ` newest=''
if [[ -f $tracker && ! -s $tracker ]]; then
  # A save was killed between emptying this file and writing it. It names the newest complete checkpoint.
  for last in "${tracker%/*}"/iter_*/` + last + `; do
    [[ -f $last && $last =~ /iter_([0-9]+)/[^/]+$ && (-z $newest || $last -nt $newest) ]] || continue
    step=$(number "${BASH_REMATCH[1]}") || continue
    newest=$last
  done
  if [[ $node_rank -eq 0 && $local_rank -eq 0 && -n $step ]]; then
    printf '%s' "$step" >"$tracker.new" && mv "$tracker.new" "$tracker"
  elif [[ $node_rank -eq 0 && $local_rank -eq 0 ]]; then
    rm "$tracker"
  fi
fi`
}

// done ends the launch of a run whose checkpoint is that of its last step. Megatron-LM
// would build its data first, and fails where a blend has no sequence after the last one
// that was trained on (megatron/training/datasets/data_samplers.py).
func done(j *job.Job) string {
	steps := strconv.Itoa(j.Training.Steps)
	return `trained=$step
[[ ! -s $tracker ]] || read -r -n 64 trained <"$tracker" || true
if now=$(number "$trained") && [[ $now -ge ` + steps + ` ]]; then
  printf 'ndc: all ` + steps + ` steps are trained\n'
  exit 0
fi`
}

// lastFile is what Megatron-LM writes last into a checkpoint, which tells that
// it is complete; "" for the format that has no such file.
func lastFile(j *job.Job, p *plan.Plan) string {
	format := "torch_dist"
	if p.Execution.FullySharded {
		format = "fsdp_dtensor"
	}
	for _, o := range occurrences(j.Backend.ExtraArgs) {
		if o.name == "--ckpt-format" && len(o.values) == 1 {
			format = o.values[0]
		}
	}
	return map[string]string{"torch_dist": "metadata.json", "fsdp_dtensor": ".metadata", "torch_dcp": ".metadata"}[format]
}

func megatronPath(j *job.Job) string {
	if j.Backend.Path == "" {
		return `: "${MEGATRON_PATH:?set it to the Megatron-LM checkout, or give backend.path}"`
	}
	return "MEGATRON_PATH=${MEGATRON_PATH:-" + render.ExpandingPath(j.Backend.Path).String() + "}"
}

// checkpoints adds what is saved and what is loaded.
func (a *arguments) checkpoints() {
	c := &a.j.Training.Checkpoint
	a.load()
	a.prolonged()
	if c.Path == "" {
		switch {
		case a.p.Execution.FullySharded:
			a.add("ndc: Megatron-FSDP insists on it, saving or not", "--ckpt-format", "fsdp_dtensor")
		case a.p.Execution.OverlapOptimizerGather:
			a.add("ndc: a gather behind the optimizer is refused beside any other, saving or not", "--ckpt-format", "torch")
		}
		return
	}
	from := a.from("training.checkpoint")
	a.path(from+".path", "--save", c.Path)
	a.integer(a.saveInterval(), "--save-interval", a.p.Run.Checkpoints.IntervalSteps)
	if c.KeepLast == 1 {
		a.integer(from+".keep_last: other checkpoints than the newest are kept from a step on that is none of the run", opRetain, beyond(a.p.Run.Checkpoints.IntervalSteps, a.j.Training.Steps))
	}
	format := "torch_dist"
	if a.p.Execution.FullySharded {
		format = "fsdp_dtensor"
	}
	a.add("ndc: every rank writes its part", "--ckpt-format", format)
	if format == "torch_dist" {
		a.add("ndc: every rank reads its part", "--ckpt-fully-parallel-load")
	}
	if !c.SaveOptimizer {
		a.add(from+".save_optimizer", "--no-save-optim")
		a.add(from+".save_optimizer", "--no-save-rng")
	}
	if c.Async {
		a.asyncSave(from + ".async")
	}
}

// beyond is the first multiple of an interval that no step of a run but its last is.
func beyond(interval, steps int) int { return (steps + interval - 1) / interval * interval }

// prolonged lets a run go on to another end than that of the schedule which its
// checkpoint was saved with. Before core_v0.19.0 the rates would be the checkpoint's
// without a word, since they lie in the optimizer's groups of parameters, too; from
// there on groups of other rates are refused (param_group_identifier_keys in
// core/optimizer/optimizer.py).
func (a *arguments) prolonged() {
	if loads := a.j.Training.Checkpoint.Path != "" || continues(a.j); loads && a.v.atLeast(19, 0) {
		a.add("ndc: the job says where the schedule ends, not a checkpoint of a shorter run", "--override-opt_param-scheduler")
	}
}

// asyncSave lets a process of its own write; releases from 0.16 on fall back
// to blocking saves without that process.
func (a *arguments) asyncSave(from string) {
	a.add(from, "--async-save")
	a.add(from, "--use-persistent-ckpt-worker")
	if a.v.options.Has("--async-strategy") {
		a.add("ndc: no further library", "--async-strategy", "mcore")
	}
}

// load adds where the weights come from: the run's own newest checkpoint, and
// before there is one, what training.start says.
func (a *arguments) load() {
	c, s := &a.j.Training.Checkpoint, &a.j.Training.Start
	from := a.from("training.start")
	if s.From != "checkpoint" {
		if c.Path != "" {
			a.path("ndc: the newest checkpoint of this run, if there is one", "--load", c.Path)
		}
		return
	}
	switch {
	case s.ResetOptimizer:
		a.path(from+".path", "--pretrained-checkpoint", s.Path)
		if c.Path != "" {
			a.path("ndc: the newest checkpoint of this run, if there is one", "--load", c.Path)
			return
		}
		a.add(from, "--finetune")
	case c.Path != "":
		a.own(from+".path, or the newest checkpoint of this run", "--load", `"$load"`)
	default:
		a.path(from+".path", "--load", s.Path)
	}
	a.add("ndc: a missing checkpoint is an error", "--exit-on-missing-checkpoint")
}

// saveInterval says where the interval of checkpoints in steps comes from:
// Megatron-LM counts nothing else, so a time becomes steps of the planned
// duration.
func (a *arguments) saveInterval() string {
	c, from := a.p.Run.Checkpoints, a.from("training.checkpoint.interval")
	minutes := fmt.Sprintf("%.0f minutes at %s s a step", float64(c.IntervalSeconds)/60, units.Significant(float64(a.p.Time.StepSeconds), 3))
	switch {
	case c.Given == "steps":
		return from
	case c.IntervalSteps >= a.j.Training.Steps:
		return from + ", which is longer than the run"
	case c.Given == "auto":
		return from + ", " + minutes + ": " + c.Why
	}
	return from + ", " + minutes
}

// logging adds what the run reports and when it ends by itself.
func (a *arguments) logging() {
	g := &a.j.Training.Logging
	a.integer(a.from("training.logging.interval"), "--log-interval", max(1, g.Interval))
	a.add("ndc: tokens per second in the log", "--log-throughput")
	switch {
	case g.TensorBoardPath != "":
		a.path(a.from("training.logging.tensorboard_path"), "--tensorboard-dir", g.TensorBoardPath)
	case g.Profile != nil && g.Profile.Tool == "torch":
		a.own("ndc: traces are written beside this folder, and nowhere without it", "--tensorboard-dir", `"$NDC_LOG_DIR/tensorboard"`)
	case g.WandB != nil: // training.py, training_log
		a.own("ndc: what is not written here is not sent to Weights & Biases either", "--tensorboard-dir", `"$NDC_LOG_DIR/tensorboard"`)
	}
	writes := g.TensorBoardPath != "" || g.WandB != nil
	if g.Timers {
		a.integer(a.from("training.logging.timers"), "--timing-log-level", 1)
		a.add("ndc: the fastest and the slowest rank", "--timing-log-option", "minmax")
		a.add("ndc: timers do not make ranks wait for one another", "--no-barrier-with-level-1-timing")
		a.flag(a.from("training.logging.timers"), "--log-timers-to-tensorboard", writes)
	}
	if g.Memory {
		a.integer(a.from("training.logging.memory"), "--log-memory-interval", max(1, g.Interval))
		a.flag(a.from("training.logging.memory"), "--log-memory-to-tensorboard", writes)
	}
	if g.Norms {
		a.add(a.from("training.logging.norms"), "--log-params-norm")
		a.add(a.from("training.logging.norms"), "--log-num-zeros-in-grad")
	}
	if w := g.WandB; w != nil {
		from := a.from("training.logging.wandb")
		a.add(from+".project", "--wandb-project", w.Project)
		a.add("ndc: name of the job", "--wandb-exp-name", a.j.Name)
		a.own("ndc: beside the logs", "--wandb-save-dir", `"$NDC_LOG_DIR"`)
		if w.Entity != "" && a.v.options.Has("--wandb-entity") {
			a.add(from+".entity", "--wandb-entity", w.Entity)
		}
	}
	if g.Stragglers {
		a.add(a.from("training.logging.stragglers"), "--log-straggler")
	}
	if p := g.Profile; p != nil {
		a.profile(p)
	}
	if mode := a.j.Training.RerunMode; mode != "" {
		a.add(a.from("training.rerun_mode"), "--rerun-mode", mode)
	}
	a.integer("ndc: all ranks collect garbage at the same step", "--manual-gc-interval", 100)
	a.add("ndc: all ranks collect garbage at the same step", "--manual-gc")
	if a.j.Training.Checkpoint.Path != "" {
		a.add("ndc: SIGTERM, as before the time limit or at a preemption, saves and ends", "--exit-signal-handler")
	}
	if limit := a.j.Slurm.Time; limit > 0 && a.j.Training.Checkpoint.Path != "" {
		a.integer("spec: slurm.time, less start-up and a last checkpoint", "--exit-duration-in-mins", exitMinutes(a.j, a.p))
	}
}

// profile adds what is traced. Nsight Systems records between the marks of the
// program (launch.sh starts it); torch's profiler writes the trace itself.
func (a *arguments) profile(p *job.Profile) {
	from := a.from("training.logging.profile")
	a.add(from, "--profile")
	a.flag(from+".tool", "--use-pytorch-profiler", p.Tool == "torch")
	step := func(why, name string, n int) {
		text := strconv.Itoa(n)
		word := text
		if shifts(a.j) {
			word = "$((" + text + " + later))"
		}
		a.words(why, name, []string{text}, []render.Word{render.Shell(word)})
	}
	step(from+".start_step", "--profile-step-start", p.StartStep)
	step(from+".end_step", "--profile-step-end", p.EndStep)
	if p.Ranks == nil {
		a.integer("ndc: one rank is enough", "--profile-ranks", 0)
		return
	}
	words := make([]string, len(p.Ranks))
	for i, rank := range p.Ranks {
		words[i] = strconv.Itoa(rank)
	}
	a.add(from+".ranks", "--profile-ranks", words...)
}

// exitMinutes is when the program saves and ends, counted from its own start.
// It looks at the clock once per step, so the last one may still run.
func exitMinutes(j *job.Job, p *plan.Plan) int {
	window := goodput.Window(j) - p.Time.StepSeconds
	return max(1, int(window/60))
}
