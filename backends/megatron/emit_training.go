package megatron

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
)

// precision adds the types of parameters, gradients and GEMMs.
func (a *arguments) precision() {
	t := &a.j.Training
	from := a.from("training.precision")
	switch t.Precision {
	case "fp16":
		a.add(from, "--fp16")
		a.lossScale()
	case "fp32":
	default:
		a.add(from, "--bf16")
	}
	a.options(inPrecision)
	switch t.Precision {
	case "fp8", "mxfp8":
		a.fp8()
	case "nvfp4":
		a.add(from, "--fp4-format", "e2m1")
		a.add(from, "--fp4-recipe", "nvfp4")
		a.flag(a.from("training.fp8.parameter_gather"), "--fp4-param-gather", t.FP8.ParameterGather)
		a.layersInBF16()
	}
}

// lossScale states Megatron-LM's dynamic loss scaling, which fp16 needs.
func (a *arguments) lossScale() {
	const why = "ndc: dynamic loss scaling of fp16"
	a.add(why, "--initial-loss-scale", "4294967296")
	a.add(why, "--min-loss-scale", "1.0")
	a.add(why, "--loss-scale-window", "1000")
	a.add(why, "--hysteresis", "2")
}

// fp8 adds the recipe. Per-tensor scaling keeps gradients in e5m2 (hybrid);
// recipes with a scale per block are precise enough for e4m3 throughout.
func (a *arguments) fp8() {
	f := &a.j.Training.FP8
	recipe, format, from := f.Recipe, "hybrid", a.from("training.fp8.recipe")
	if a.j.Training.Precision == "mxfp8" {
		recipe, from = "mxfp8", a.from("training.precision")
	}
	if recipe == "" {
		recipe = "tensorwise"
	}
	if recipe == "mxfp8" || recipe == "blockwise" {
		format = "e4m3"
	}
	a.add(from, "--fp8-format", format)
	a.add(from, "--fp8-recipe", recipe)
	if recipe == "delayed" {
		a.add("ndc: history that delayed scaling looks back on", "--fp8-amax-history-len", "1024")
		a.add("ndc: largest value of the history", "--fp8-amax-compute-algo", "max")
		a.add("ndc: no margin", "--fp8-margin", "0")
	}
	a.layersInBF16()
	if f.ParameterGather {
		a.add(a.from("training.fp8.parameter_gather"), "--fp8-param-gather")
		a.flag("ndc: gathered parameters lie in the gradient buffer", "--reuse-grad-buf-for-mxfp8-param-ag",
			recipe == "mxfp8" && !a.p.Execution.FullySharded && a.p.Execution.OverlapParameterGather)
	}
}

func (a *arguments) layersInBF16() {
	f := &a.j.Training.FP8
	if f.BF16FirstLayers+f.BF16LastLayers == 0 {
		return
	}
	a.add(a.from("training.fp8.bf16_first_layers"), "--first-last-layers-bf16")
	a.integer(a.from("training.fp8.bf16_first_layers"), "--num-layers-at-start-in-bf16", f.BF16FirstLayers)
	a.integer(a.from("training.fp8.bf16_last_layers"), "--num-layers-at-end-in-bf16", f.BF16LastLayers)
}

// optimizer adds the update rule.
func (a *arguments) optimizer() {
	o := &a.j.Training.Optimizer
	from := a.from("training.optimizer")
	switch o.Kind {
	case "sgd":
		a.add(from, "--optimizer", "sgd")
		a.number(from+".momentum", "--sgd-momentum", o.Momentum)
	case "muon":
		a.muon(o)
	default:
		a.add(from, "--optimizer", "adam")
	}
	if o.Kind != "sgd" {
		a.number(from+".beta1", "--adam-beta1", o.Beta1)
		a.number(from+".beta2", "--adam-beta2", o.Beta2)
		a.number(from+".epsilon", "--adam-eps", o.Epsilon)
	}
	a.number(from+".learning_rate", "--lr", o.LearningRate)
	a.number(from+".weight_decay", "--weight-decay", o.WeightDecay)
	a.add("ndc: constant weight decay", "--weight-decay-incr-style", "constant")
	a.number(from+".gradient_clipping", "--clip-grad", o.GradientClipping)
	a.integer(a.from("training.seed"), "--seed", a.j.Training.Seed)
}

// muon adds Muon for matrices, with Adam for the rest. core_v0.17 spreads the
// matrices under a name of its own.
func (a *arguments) muon(o *job.Optimizer) {
	from := a.from("training.optimizer")
	kind := "muon"
	if a.p.Layout.ZeroStage >= 1 && a.wholeMatrices() {
		kind = "dist_muon"
	}
	a.add(from, "--optimizer", kind)
	a.number(from+".momentum", "--muon-momentum", o.Momentum)
	a.add("ndc: updates scaled by the spectral norm", "--muon-scale-mode", "spectral")
}

// schedule adds batch, duration and learning rate. Megatron-LM counts a run
// in steps, or in samples when the batch grows.
func (a *arguments) schedule() {
	t, l := &a.j.Training, &a.p.Layout
	a.integer(planned("layout.micro_batch_size"), "--micro-batch-size", l.MicroBatchSize)
	a.batch()
	unit := "iters"
	count := func(steps int) int { return steps }
	if t.BatchRamp != nil {
		unit = "samples"
		count = func(steps int) int { return int(samplesAfter(t, steps)) }
	}
	a.integer(a.inTokens("training.steps"), "--train-"+unit, count(t.Steps))
	s := &t.Schedule
	from := a.from("training.schedule")
	a.add(from, "--lr-decay-style", map[string]string{"wsd": "WSD"}[s.Kind]+map[string]string{"cosine": "cosine", "linear": "linear", "constant": "constant"}[s.Kind])
	a.integer(a.inTokens("training.schedule.warmup_steps"), "--lr-warmup-"+unit, count(s.WarmupSteps))
	a.add("ndc: warm-up starts at zero", "--lr-warmup-init", "0.0")
	a.number(a.from("training.schedule.minimum_learning_rate"), "--min-lr", s.MinimumLearningRate)
	end, why := t.Steps, a.inTokens("training.schedule.decay_steps")
	if s.Kind == "wsd" {
		a.add(a.from("training.schedule.decay_shape"), "--lr-wsd-decay-style", s.DecayShape)
		a.integer(why, "--lr-wsd-decay-"+unit, count(end)-count(end-s.DecaySteps))
	} else if s.DecaySteps > 0 {
		end = s.WarmupSteps + s.DecaySteps // the run may end first
	}
	if end <= s.WarmupSteps { // core/optimizer_param_scheduler.py
		end, why = s.WarmupSteps+1, "ndc: the release wants a step behind the warm-up, which the run does not reach"
	}
	a.integer(why, "--lr-decay-"+unit, count(end))
}

// batch adds the batch, and how it grows. From core_v0.18.0 on --rampup-batch-size
// is read and ignored (megatron/core/num_microbatches_calculator.py): the sizes are
// listed there, each with the tokens after which it begins, and no batch of its own
// stands beside the list (arguments.py).
func (a *arguments) batch() {
	t := &a.j.Training
	r, from := t.BatchRamp, a.from("training.batch_ramp")
	if r != nil && a.v.listsBatches() {
		var list []string
		for _, s := range r.Stages(t.GlobalBatchSize) {
			list = append(list, fmt.Sprintf("%d:%d", s.After*int64(a.j.Model.SequenceLength), s.Batch))
		}
		a.add(from+", tokens:sequences", "--step-batch-size-schedule", strings.Join(list, " "))
		return
	}
	a.integer(a.from("training.global_batch_size"), "--global-batch-size", t.GlobalBatchSize)
	if r != nil {
		a.add(from, "--rampup-batch-size", strconv.Itoa(r.Start), strconv.Itoa(r.Increment), strconv.FormatInt(r.Sequences, 10))
	}
}

// listsBatches reports whether a batch that grows is a list of sizes.
func (v *version) listsBatches() bool { return v.options.Has("--step-batch-size-schedule") }

// inTokens says where a number of steps comes from: its argument, or the one of
// the same meaning in tokens.
func (a *arguments) inTokens(path string) string {
	if tokens := strings.Replace(path, "steps", "tokens", 1); a.j.Sources.IsSet(tokens) {
		path = tokens
	}
	return a.from(path)
}

// samplesAfter counts the sequences that a ramped run has read after a number
// of steps.
func samplesAfter(t *job.Training, steps int) int64 {
	_, read := t.BatchRamp.After(t.GlobalBatchSize, int64(steps), math.MaxInt64)
	return read
}

// steps is when the run is done.
func (a *arguments) steps() int { return a.j.Training.Steps }
