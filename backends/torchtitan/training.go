package torchtitan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// checkTraining refuses optimizer, schedule and batch arguments that
// TorchTitan does not have.
func (v *version) checkTraining(j *job.Job, diags *diag.List) {
	t := &j.Training
	refuse := func(path, summary, detail string) {
		diags.Error(UnsupportedTraining, j.Sources.Range("training."+path), summary, detail)
	}
	if k := t.Optimizer.Kind; k != "adamw" && k != "adam" {
		has := fmt.Sprintf("TorchTitan %s has adamw and adam, not %s.", v.name, k)
		if k == "muon" && v.ownMuon != "" {
			has = fmt.Sprintf("What ndc emits for TorchTitan %s drives adamw and adam, not muon: %s.", v.name, v.ownMuon)
		}
		refuse("optimizer", "Optimizer not available", has+" "+capability.Alternatives(capability.Of("training.optimizer", k)))
	}
	if t.BatchRamp != nil {
		refuse("batch_ramp", "TorchTitan has no batch ramp",
			"Its global batch is constant and cannot grow. "+capability.Alternatives("training.batch_ramp")+" Or remove batch_ramp.")
	}
	if t.Logging.Timers {
		refuse("logging.timers", "TorchTitan does not time the parts of a step",
			"It reports the time of a step as a whole. "+capability.Alternatives("training.logging.timers")+" Or remove timers = true; logging { profile { … } } records a trace.")
	}
	if t.Logging.Norms {
		refuse("logging.norms", "TorchTitan reports no norm of parameters",
			"It reports the norm of the gradients alone. "+capability.Alternatives("training.logging.norms")+" Or remove norms = true.")
	}
	if t.Logging.Stragglers {
		refuse("logging.stragglers", "TorchTitan does not compare ranks",
			"It reports the time of a step on one rank. "+capability.Alternatives("training.logging.stragglers")+" Or remove stragglers = true.")
	}
	if p := t.Logging.Profile; p != nil && p.Ranks != nil {
		refuse("logging.profile.ranks", "TorchTitan traces every rank",
			"Its profiler writes a trace for each rank and takes no choice. "+capability.Alternatives("training.logging.profile.ranks")+" Or remove ranks.")
	}
	if p := t.Logging.Profile; p != nil && p.Tool == "nsys" {
		refuse("logging.profile.tool", "TorchTitan does not mark steps for Nsight Systems",
			"It never starts the CUDA profiler, so that nothing would be recorded. "+capability.Alternatives("training.logging.profile.tool=nsys")+" Or use tool = \"torch\".")
	}
	if j.OverlapConfig != "" {
		diags.Error(UnsupportedExecution, j.Sources.Range("execution.tensor_parallel_overlap_config"), "Execution option that TorchTitan does not have",
			"TorchTitan overlaps by torch's symmetric memory, which takes no such file. "+capability.Alternatives("execution.tensor_parallel_overlap_config")+" Or remove tensor_parallel_overlap_config.")
	}
	if t.RerunMode != "" {
		refuse("rerun_mode", "TorchTitan computes no step again",
			"A loss that is not finite stays so. "+capability.Alternatives("training.rerun_mode")+" Or remove rerun_mode.")
	}
	v.checkSchedule(j, diags)
}

// checkSchedule refuses learning rates that the framework's one schedule
// (linear warm-up, a constant stretch, one decay) cannot follow exactly.
func (v *version) checkSchedule(j *job.Job, diags *diag.List) {
	s, steps := &j.Training.Schedule, j.Training.Steps
	refuse := func(path, detail string) {
		diags.Error(UnsupportedSchedule, j.Sources.Range("training.schedule."+path), "Schedule that TorchTitan cannot follow", detail)
	}
	if s.WarmupSteps > steps {
		refuse("warmup_steps", fmt.Sprintf("The warm-up of %s is longer than the run of %s; TorchTitan would shorten it.", units.Count(s.WarmupSteps, "step"), units.Count(steps, "step")))
	}
	switch s.Kind {
	case "cosine", "linear":
		if s.DecaySteps > 0 && s.WarmupSteps+s.DecaySteps < steps {
			name := "decay_steps"
			if j.Sources.IsSet("training.schedule.decay_tokens") {
				name = "decay_tokens"
			}
			refuse(name, fmt.Sprintf("The rate would reach its minimum at step %d of %d, and TorchTitan cannot hold it there. Leave %s out, so that it falls to the end of the run. %s",
				s.WarmupSteps+s.DecaySteps, steps, name, capability.Offers("training.schedule.decay_steps before the end")))
		}
	case "wsd":
		if _, ok := decayTypes[s.DecayShape]; !ok {
			refuse("decay_shape", fmt.Sprintf("TorchTitan decays by linear, cosine or minus_sqrt, not %s. %s", s.DecayShape, capability.Alternatives(capability.Of("training.schedule.decay_shape", s.DecayShape))))
		}
		if s.WarmupSteps+s.DecaySteps > steps {
			refuse("decay_steps", fmt.Sprintf("Warm-up (%d) and decay (%d) are longer than the run of %s; TorchTitan would shorten the decay.", s.WarmupSteps, s.DecaySteps, units.Count(steps, "step")))
		}
	case "constant":
	default:
		refuse("", "TorchTitan has cosine, linear, wsd and constant schedules, not "+s.Kind+".")
	}
}

// decayTypes maps shapes of the language to lr_scheduler.decay_type.
var decayTypes = map[string]string{"": "linear", "linear": "linear", "cosine": "cosine", "minus_sqrt": "sqrt"}

// rate is the framework's form of a schedule.
type rate struct {
	totalSteps int      // of warm-up and decay; 0: the run's
	decayRatio *float64 // share of the run that decays; nil: all after warm-up
	decayType  string
	minimum    float64 // as a factor of the peak
}

// rateOf maps a schedule; checkSchedule has refused what has no exact form.
// The framework decays over round(ratio × steps) steps.
func rateOf(t *job.Training) rate {
	s := &t.Schedule
	r := rate{decayType: "linear"}
	if t.Optimizer.LearningRate > 0 {
		r.minimum = factor(s.MinimumLearningRate, t.Optimizer.LearningRate)
	}
	switch s.Kind {
	case "cosine", "linear":
		r.decayType = s.Kind
		if s.DecaySteps > 0 && s.WarmupSteps+s.DecaySteps > t.Steps {
			r.totalSteps = s.WarmupSteps + s.DecaySteps
		}
	case "wsd":
		r.decayType = decayTypes[s.DecayShape]
		r.decayRatio = exactRatio(s.DecaySteps, t.Steps)
	case "constant":
		r.decayRatio = new(float64)
	}
	return r
}

// factor is the shortest decimal whose product with whole is part, but for
// rounding.
func factor(part, whole float64) float64 {
	for digits := 1; digits < 17; digits++ {
		f, _ := strconv.ParseFloat(strconv.FormatFloat(part/whole, 'g', digits, 64), 64)
		if math.Abs(f*whole-part) <= 1e-14*math.Abs(part) {
			return f
		}
	}
	return part / whole
}

// exactRatio is a share whose product with steps rounds to decay.
func exactRatio(decay, steps int) *float64 {
	ratio := float64(decay) / float64(steps)
	if int(math.RoundToEven(ratio*float64(steps))) != decay {
		panic("torchtitan: decay ratio does not round back")
	}
	return &ratio
}

// blendPeriod is after how many sequences the emitted reader repeats its pattern
// of sources (BLEND_PERIOD in templates/ndc_runtime.py).
const blendPeriod = 10_000

// checkData refuses data arguments that the emitted reader cannot honour.
func (v *version) checkData(j *job.Job, diags *diag.List) {
	t := &j.Training.Data
	refuse := func(path, detail string) {
		diags.Error(UnsupportedData, j.Sources.Range("training.data."+path), "Data argument that cannot be honoured", detail)
	}
	if t.Format == "jsonl" && !t.Mock && t.Tokenizer.Kind != "huggingface" {
		refuse("tokenizer", fmt.Sprintf("TorchTitan tokenises text with a Hugging Face tokenizer.json only, not %s. Convert the tokenizer, or convert the text to format \"megatron\" beforehand.", t.Tokenizer.Kind))
	}
	if t.Format == "jsonl" && !t.Mock && t.Split != "" {
		refuse("split", "The emitted reader splits indexed tokens only: of text it would train on all lines, and validate on them. Name a file for validation { path }, or convert the text and use format = \"megatron\".")
	}
	for _, s := range t.Sources {
		if s.Weight*blendPeriod < 0.5 && !t.Mock {
			diags.Warn(Differs, j.Sources.Range(fmt.Sprintf("training.data.source[%q].weight", s.Name)), "A source is read more often than its weight says",
				fmt.Sprintf("The reader that ndc emits for TorchTitan repeats a pattern of %[1]d sequences, in which every source has one at least: this one is 1 in %[1]d of what is read, and %.3[2]g of all by its weight. Give it a larger weight, or join it with another source.",
					blendPeriod, s.Weight))
		}
	}
	if t.Format == "tokens" && t.DocumentMask && !t.Mock && !t.Tokenizer.EndOfDocumentID.Set {
		refuse("document_mask", "A flat file of tokens marks documents by their last id only: set tokenizer { end_of_document_id }.")
	}
	if v.maskOfPositions != "" && t.DocumentMask != t.ResetPositionIDs {
		refuse("document_mask", v.maskOfPositions)
	}
	if f := v.find(&j.Model); t.DocumentMask && f.unmasked {
		refuse("document_mask", fmt.Sprintf("TorchTitan %s makes the masks of its %s itself and cannot separate documents; 0.3.0 can.", v.name, f.module))
	}
	if f := v.find(&j.Model); t.ResetPositionIDs && f.unmasked {
		refuse("reset_position_ids", fmt.Sprintf("TorchTitan %s gives its %s no position ids, which count from the start of the sequence; 0.3.0 does.", v.name, f.module))
	}
	if v := t.Validation; v != nil && v.Path == "" && t.Split == "" && !t.Mock {
		refuse("validation", "Validation needs data of its own: set validation { path } or split.")
	}
	if t.CachePath != "" {
		refuse("cache_path", "The reader that ndc emits for TorchTitan keeps no index files and needs no folder for them. "+capability.Alternatives("training.data.cache_path")+" For a job with several backends, write cache_path into the block of the one that has it, backend \"…\" { training { data { … } } }.")
	}
}

// checkCheckpoint refuses start and checkpoint arguments without a
// counterpart.
func (v *version) checkCheckpoint(j *job.Job, diags *diag.List) {
	s, c := &j.Training.Start, &j.Training.Checkpoint
	refuse := func(path, detail string) {
		diags.Error(UnsupportedCheckpoint, j.Sources.Range("training."+path), "Checkpoint argument that TorchTitan cannot honour", detail)
	}
	if c.KeepLast == 1 {
		refuse("checkpoint.keep_last", "TorchTitan keeps at least two checkpoints, because the newest may still be written. Set keep_last = 2, or 0 for all.")
	}
	if c.Path != "" && !c.SaveOptimizer {
		refuse("checkpoint.save_optimizer", "TorchTitan always saves the optimizer with intermediate checkpoints and cannot leave it out. "+capability.Alternatives("training.checkpoint.save_optimizer=false"))
	}
	if s.From == "checkpoint" && (s.ResetOptimizer != s.ResetSchedule || s.ResetSchedule != s.ResetData) {
		refuse("start", "TorchTitan loads either everything or the model alone. Set reset_optimizer, reset_schedule and reset_data all or none. "+capability.Offers("training.start.reset_optimizer alone"))
	}
	if s.From != "scratch" && s.From != "" && c.Path == "" {
		refuse("start", "TorchTitan loads weights through its checkpointer: set checkpoint { path } as well.")
	}
	if s.From == "huggingface" && !v.requiresSafetensors {
		diags.Warn(NeedsPackage, j.Sources.Range("training.start.from"), "The image needs a further package",
			"torch reads Hugging Face weights with safetensors, which TorchTitan "+v.name+" does not require; without it the start ends with \"metadata is None\".")
	}
	v.checkExport(j, diags)
	if f := v.find(&j.Model); s.From == "huggingface" && !slices.Contains(f.weights, j.Model.Architecture) {
		refuse("start.from", fmt.Sprintf("TorchTitan builds this model as its %s, whose adapter reads Hugging Face weights of %s, not of %s. Convert the weights to a TorchTitan checkpoint, or use another backend.",
			f.module, strings.Join(f.weights, " and "), j.Model.Architecture))
	} else if s.From == "huggingface" && f.notRead != "" && (f.readWith == "" || !slices.Contains(j.Backend.ExtraArgs, "--"+f.readWith+"=true")) {
		refuse("start.from", f.notRead)
	}
}

// exportOption has the last checkpoint written as Hugging Face's files: weights alone.
const exportOption = "checkpoint.last_save_in_hf"

// exports reports whether extra_args ask for it, and where.
func exports(j *job.Job) (at diag.Range, yes bool) {
	for i, u := range userSettings(j) {
		if u.path == exportOption && u.value == "true" {
			return j.Sources.Range(fmt.Sprintf("backend.extra_args[%d]", i)), true
		}
	}
	return at, false
}

// checkExport refuses an export that the model's adapter would write wrongly, which
// shows after the last step only.
func (v *version) checkExport(j *job.Job, diags *diag.List) {
	at, yes := exports(j)
	f := v.find(&j.Model)
	switch {
	case !yes || f == nil:
	case !slices.Contains(f.weights, j.Model.Architecture) || f.notRead != "":
		diags.Error(UnsupportedCheckpoint, at, "Weights that TorchTitan cannot write",
			fmt.Sprintf("TorchTitan builds this model as its %s, whose adapter does not write Hugging Face weights of %s. Remove %s, and convert the last checkpoint by another tool.", f.module, j.Model.Architecture, exportOption))
	case !v.requiresSafetensors:
		diags.Warn(NeedsPackage, at, "The image needs a further package",
			"torch writes Hugging Face weights with safetensors, which TorchTitan "+v.name+" does not require; without it the program fails after its last step.")
	}
}
