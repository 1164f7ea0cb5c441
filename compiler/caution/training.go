package caution

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/units"
)

// bounds are the figures beyond which no recipe lies, with their source.
type bounds struct {
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Source string  `json:"source"`
}

// recipe is what data/recipes.json holds.
type recipe struct {
	LearningRates map[string]bounds `json:"learning_rates"` // by kind of optimizer
	Epsilon       bounds            `json:"epsilon"`
	WeightDecay   bounds            `json:"weight_decay"`
	Checkpoints   bounds            `json:"checkpoints"` // bytes of all that a run keeps
	Warmup        struct {
		Share  float64 `json:"share"`
		Steps  int     `json:"steps"`
		Source string  `json:"source"`
	} `json:"warmup"`
}

// variable is a line of data/variables.json: a setting for debugging and what
// it costs.
type variable struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Why    string `json:"why"`
	Needs  string `json:"needs"` // what the cluster has to have for it to cost anything
	Source string `json:"source"`
}

//go:embed data/recipes.json
var recipeData string

//go:embed data/variables.json
var variableData string

var (
	recipes   = facts.One[recipe]("caution: data/recipes.json", recipeData)
	variables = facts.One[[]variable]("caution: data/variables.json", variableData)
)

func (w *warner) learningRate() {
	o := &w.job.Training.Optimizer
	b, known := recipes.LearningRates[o.Kind]
	const path = "training.optimizer.learning_rate"
	switch {
	case !known:
	case o.LearningRate >= b.Most:
		w.warn(UnlikelyLearningRate, path, "A peak learning rate of %g with %s is far above every recipe: the loss diverges in the first steps. Rates are 1e-5 to 1e-2 for adamw and up to 5e-2 for muon; is a sign of the exponent missing?", o.LearningRate, o.Kind)
	case o.LearningRate < b.Least:
		w.warn(UnlikelyLearningRate, path, "A peak learning rate of %g with %s changes nothing: an update is smaller than the last digit of a weight. Rates are 1e-5 to 1e-2 for adamw and up to 5e-2 for muon.", o.LearningRate, o.Kind)
	}
}

func (w *warner) optimizer() {
	o := &w.job.Training.Optimizer
	if o.Kind != "sgd" {
		if o.Beta1 > o.Beta2 {
			w.warn(UnlikelyOptimizer, "training.optimizer.beta1", "beta1, %g, is above beta2, %g: the second moment would forget faster than the first. Recipes use 0.9 and 0.95 or 0.999; are the two exchanged?", o.Beta1, o.Beta2)
		}
		if o.Epsilon > recipes.Epsilon.Most {
			w.warn(UnlikelyOptimizer, "training.optimizer.epsilon", "An epsilon of %g is larger than the root of most second moments, so that it sets the size of the updates. Recipes use 1e-15 to 1e-5.", o.Epsilon)
		}
	}
	if o.WeightDecay > recipes.WeightDecay.Most {
		w.warn(UnlikelyOptimizer, "training.optimizer.weight_decay", "A weight decay of %g pulls all weights to zero. Recipes use 0 to 0.1.", o.WeightDecay)
	}
}

func (w *warner) warmup() {
	t := &w.job.Training
	s := &t.Schedule
	switch {
	case t.Steps == 0:
	case float64(s.WarmupSteps) > recipes.Warmup.Share*float64(t.Steps):
		path := "training.schedule.warmup_steps"
		if !w.job.Sources.IsSet(path) {
			path = "training.schedule.warmup_tokens"
		}
		w.warn(LongWarmup, path, "The learning rate rises for %d of %s. Recipes warm up over a hundredth of a run, a tenth at most.", s.WarmupSteps, units.Count(t.Steps, "step"))
	case s.WarmupSteps == 0 && t.Start.From == "scratch" && t.Steps >= recipes.Warmup.Steps && !t.Data.Mock:
		why := ", where Adam's moments are not known yet"
		if t.Optimizer.Kind == "sgd" {
			why = ""
		}
		w.warn(NoWarmup, "training.schedule", "A run from scratch starts at its peak learning rate of %g%s: losses spike or diverge. Set warmup_steps in a schedule block, such as %d.", t.Optimizer.LearningRate, why, max(100, t.Steps/100))
	}
}

// unreached warns of what is set for steps that the run does not have.
func (w *warner) unreached() {
	t := &w.job.Training
	if v := t.Data.Validation; v != nil && v.Interval > t.Steps {
		w.warn(NeverReached, "training.data.validation.interval", "Validation is due every %s, and the run has %d: nothing is evaluated. Use a shorter interval.", units.Count(v.Interval, "step"), t.Steps)
	}
	if path := "training.logging.interval"; t.Logging.Interval > t.Steps && w.job.Sources.IsSet(path) {
		w.warn(NeverReached, path, "A line is due every %s, and the run has %d: no loss is ever printed. Use a shorter interval.", units.Count(t.Logging.Interval, "step"), t.Steps)
	}
	if p := t.Logging.Profile; p != nil && p.StartStep >= t.Steps {
		w.warn(NeverReached, "training.logging.profile.start_step", "The trace begins at step %d, and the run has %d: nothing is recorded. Begin earlier.", p.StartStep, t.Steps)
	}
	if r := t.BatchRamp; r != nil && w.job.Model.SequenceLength > 0 {
		if sequences := t.Tokens / int64(w.job.Model.SequenceLength); r.Sequences > sequences {
			w.warn(NeverReached, "training.batch_ramp.sequences", "The batch grows over %s, and the run has %d: it never trains with global_batch_size, %d.", units.Count(r.Sequences, "sequence"), sequences, t.GlobalBatchSize)
		}
	}
}

// validation compares an evaluation with the steps before it.
func (w *warner) validation() {
	v := w.job.Training.Data.Validation
	if v == nil {
		return
	}
	steps := float64(goodput.Evaluation(w.job, 1))
	if longer := int(100 * steps / float64(v.Interval)); longer >= mostValidation {
		w.warn(CostlyValidation, "training.data.validation.steps", "Every %s %s are evaluated, each about a third of a step: the run takes %d %% longer for it, and no prediction counts that. Evaluate fewer batches, or less often.", units.Count(v.Interval, "step"), units.Count(v.Steps, "batch"), longer)
	}
}

// mostValidation is how much longer, per cent, validation may make a run without a word.
const mostValidation = 10

// batch warns of a run that is over before its first batch is full.
func (w *warner) batch() {
	t := &w.job.Training
	if perStep := int64(t.GlobalBatchSize) * int64(w.job.Model.SequenceLength); w.job.Sources.IsSet("training.tokens") && t.BatchRamp == nil && t.Tokens < perStep {
		w.warn(LessThanOneBatch, "training.tokens", "The run is to see %s, and one batch has %d: it makes one step. Tokens are counted one by one: 2e12 are two trillion.", units.Count(t.Tokens, "token"), perStep)
	}
}

// localFolders are a node's own and emptied when it starts, or by many sites
// when a job ends.
var localFolders = []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"}

// kept warns of checkpoints that may not be there when they are needed.
func (w *warner) kept() {
	c := &w.job.Training.Checkpoint
	if c.KeepLast == 1 {
		w.warn(SingleCheckpoint, "training.checkpoint.keep_last", "One checkpoint is no way back: when it was written after the loss broke down, or its storage fails, the run is lost. Keep all of them, or the last few where the framework counts them.")
	}
	for _, folder := range localFolders {
		if strings.HasPrefix(c.Path, folder) && (w.job.Cluster.Nodes > 1 || w.job.Slurm.Chain.IsSet()) && !w.mounted(folder) {
			harm := "the next submission may run on another"
			if n := w.job.Cluster.Nodes; n > 1 {
				harm = fmt.Sprintf("a checkpoint lies in pieces on %d of them", n)
			}
			w.warn(LocalCheckpoints, "training.checkpoint.path", "Every node has a %s of its own: %s. Save to storage that all nodes share.", strings.TrimSuffix(folder, "/"), harm)
		}
	}
}

// mounted reports whether a container sees something else under a folder.
func (w *warner) mounted(folder string) bool {
	for _, m := range w.job.Slurm.Container.Mounts {
		source, inside, _ := strings.Cut(m, ":")
		inside, _, _ = strings.Cut(inside, ":")
		if w.job.Slurm.Container.Image != "" && strings.HasPrefix(inside+"/", folder) && !strings.HasPrefix(source+"/", folder) {
			return true
		}
	}
	return false
}

// environment warns of settings that were left from a search for a fault.
func (w *warner) environment() {
	for _, e := range w.job.Environments() {
		for _, set := range e.Variables {
			for _, v := range variables {
				if v.Name == set.Name && v.Value == set.Value && w.has(v.Needs) {
					w.warn(DebuggingEnvironment, e.Path+`["`+set.Name+`"]`, "With %s=%s %s. It is for debugging and slows every step down. Remove it.", set.Name, set.Value, v.Why)
				}
			}
		}
	}
}

// has reports whether the cluster has what a variable would take away.
func (w *warner) has(what string) bool {
	c := &w.job.Cluster
	switch what {
	case "nvlink":
		return c.NVLink.Domain > 1
	case "infiniband":
		return c.Nodes > 1 && (c.Network.Kind == "infiniband" || c.Network.Kind == "roce")
	}
	return true
}
