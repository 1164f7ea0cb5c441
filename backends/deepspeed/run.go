package deepspeed

import (
	"math"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/lang/units"
)

// run is run.json: the values of the job and the plan that the program reads.
func (e *emitter) run(config render.Object) render.Object {
	j := e.job
	return render.Object{
		{Key: "job", Value: j.Name},
		{Key: "requires", Value: e.requires(config)},
		{Key: "layout", Value: e.layout()},
		{Key: "model", Value: e.model()},
		{Key: "training", Value: render.Object{
			{Key: "steps", Value: j.Training.Steps},
			{Key: "sequence_length", Value: j.Model.SequenceLength},
			{Key: "precision", Value: j.Training.Precision},
			{Key: "seed", Value: j.Training.Seed},
		}},
		{Key: "optimizer", Value: render.Object{
			{Key: "learning_rate", Value: j.Training.Optimizer.LearningRate},
			{Key: "weight_decay", Value: j.Training.Optimizer.WeightDecay},
		}},
		{Key: "schedule", Value: e.schedule()},
		{Key: "data", Value: e.data()},
		{Key: "validation", Value: e.validation()},
		{Key: "start", Value: render.Object{
			{Key: "origin", Value: j.Training.Start.From},
			{Key: "path", Value: j.Training.Start.Path},
			{Key: "reset_optimizer", Value: j.Training.Start.ResetOptimizer},
			{Key: "reset_schedule", Value: j.Training.Start.ResetSchedule},
			{Key: "reset_data", Value: j.Training.Start.ResetData},
		}},
		{Key: "checkpoint", Value: e.checkpoint()},
		{Key: "logging", Value: e.logging()},
	}
}

func (e *emitter) layout() render.Object {
	l := &e.plan.Layout
	return render.Object{
		{Key: "gpus", Value: l.GPUs()},
		{Key: "tensor_parallel", Value: l.TensorParallel},
		{Key: "context_parallel", Value: l.ContextParallel},
		{Key: "expert_parallel", Value: l.ExpertParallel},
		{Key: "zero_stage", Value: l.ZeroStage},
		{Key: "mics", Value: l.DataParallelReplicate > 1 && l.DataParallelShard > 1},
		{Key: "micro_batch_size", Value: l.MicroBatchSize},
		{Key: "micro_batches", Value: l.MicroBatches},
		{Key: "global_batch_size", Value: e.job.Training.GlobalBatchSize},
	}
}

func (e *emitter) model() render.Object {
	m := &e.job.Model
	modules := e.family.leafModules
	if modules == nil {
		modules = []string{}
	}
	return render.Object{
		{Key: "vocab_size", Value: m.Vocabulary()},
		{Key: "attention", Value: e.value("attention")},
		{Key: "init_std", Value: m.InitStd},
		{Key: "residual_init_std", Value: m.InitStd / math.Sqrt(2*float64(m.Layers))},
		{Key: "zero_centered_norm", Value: m.Norm.ZeroCentered},
		{Key: "dropout", Value: m.Dropout},
		{Key: "final_softcap", Value: m.FinalSoftcap},
		{Key: "loss_chunks", Value: e.value("loss_chunks")},
		{Key: "recompute_layers", Value: e.recomputeLayers()},
		{Key: "leaf_modules", Value: modules},
		{Key: "router", Value: e.router()},
	}
}

// router is what the balancing losses need; null without any.
func (e *emitter) router() any {
	moe := e.job.Model.MoE
	if moe == nil {
		return nil
	}
	r := &moe.Router
	aux := (r.Balance == "aux_loss" || r.Balance == "sequence_aux_loss") && r.AuxCoefficient > 0
	if !aux && r.ZLossCoefficient == 0 {
		return nil
	}
	kind := "none"
	if aux {
		kind = r.Balance
	}
	return render.Object{
		{Key: "balance", Value: kind},
		{Key: "top_k", Value: moe.TopK},
		{Key: "aux_coefficient", Value: r.AuxCoefficient},
		{Key: "z_coefficient", Value: r.ZLossCoefficient},
	}
}

// schedule gives the decay as a stretch of steps: for wsd the last ones, else
// from the end of the warm-up.
func (e *emitter) schedule() render.Object {
	s, steps := &e.job.Training.Schedule, e.job.Training.Steps
	start, end := s.WarmupSteps, steps
	switch {
	case s.Kind == "wsd":
		start = steps - s.DecaySteps
	case s.DecaySteps > 0:
		end = min(steps, s.WarmupSteps+s.DecaySteps)
	}
	return render.Object{
		{Key: "kind", Value: s.Kind},
		{Key: "warmup_steps", Value: s.WarmupSteps},
		{Key: "decay_start", Value: start},
		{Key: "decay_end", Value: end},
		{Key: "decay_shape", Value: s.DecayShape},
		{Key: "minimum_learning_rate", Value: s.MinimumLearningRate},
	}
}

func (e *emitter) data() render.Object {
	d := &e.job.Training.Data
	sources := []render.Object{}
	for _, s := range d.Sources {
		sources = append(sources, render.Object{{Key: "name", Value: s.Name}, {Key: "path", Value: s.Path}, {Key: "weight", Value: s.Weight}})
	}
	var end any
	if d.Tokenizer.EndOfDocumentID.Set {
		end = d.Tokenizer.EndOfDocumentID.Value
	}
	return render.Object{
		{Key: "mock", Value: d.Mock},
		{Key: "format", Value: d.Format},
		{Key: "sources", Value: sources},
		{Key: "split", Value: d.Split},
		{Key: "tokenizer", Value: render.Object{{Key: "kind", Value: d.Tokenizer.Kind}, {Key: "path", Value: d.Tokenizer.Path}}},
		{Key: "end_of_document_id", Value: end},
		{Key: "reset_position_ids", Value: d.ResetPositionIDs},
		{Key: "document_mask", Value: d.DocumentMask},
		{Key: "workers", Value: d.Workers},
		{Key: "cache_path", Value: d.CachePath},
	}
}

func (e *emitter) validation() any {
	v := e.job.Training.Data.Validation
	if v == nil || v.Interval == 0 {
		return nil
	}
	return render.Object{{Key: "path", Value: v.Path}, {Key: "interval", Value: v.Interval}, {Key: "steps", Value: v.Steps}}
}

// checkpoint is what is saved how often: by the clock where a time was given or
// ndc chose one, else by the step.
func (e *emitter) checkpoint() render.Object {
	c := &e.job.Training.Checkpoint
	steps, seconds := c.IntervalSteps, 0.0
	if planned := e.plan.Run.Checkpoints; planned != nil && planned.Given != "steps" {
		steps, seconds = 0, float64(planned.IntervalSeconds)
	}
	var window any
	if w := goodput.Window(e.job); w > 0 {
		if evaluation := goodput.Evaluation(e.job, e.plan.Time.StepSeconds); evaluation > 0 { // it may begin before the end, and nobody looks at the clock
			w = units.Seconds(math.Floor(float64(units.Rounded(w - min(evaluation, w/2)))))
		}
		window = float64(w)
	}
	return render.Object{
		{Key: "path", Value: c.Path},
		{Key: "interval_steps", Value: steps},
		{Key: "interval_seconds", Value: seconds},
		{Key: "window_seconds", Value: window},
		{Key: "keep_last", Value: c.KeepLast},
	}
}

func (e *emitter) logging() render.Object {
	g := &e.job.Training.Logging
	var wandb, profile any
	if w := g.WandB; w != nil {
		wandb = render.Object{{Key: "project", Value: w.Project}, {Key: "entity", Value: w.Entity}, {Key: "mode", Value: w.Mode}}
	}
	if p := g.Profile; p != nil {
		ranks := p.Ranks
		if ranks == nil {
			ranks = []int{0}
		}
		profile = render.Object{{Key: "start_step", Value: p.StartStep}, {Key: "end_step", Value: p.EndStep}, {Key: "ranks", Value: ranks}, {Key: "tool", Value: p.Tool}}
	}
	return render.Object{
		{Key: "interval", Value: max(1, g.Interval)},
		{Key: "tensorboard_path", Value: g.TensorBoardPath},
		{Key: "memory", Value: g.Memory},
		{Key: "wandb", Value: wandb},
		{Key: "profile", Value: profile},
	}
}

// recomputeLayers is how many decoder layers are recomputed in the backward pass.
func (e *emitter) recomputeLayers() int {
	l := &e.plan.Layout
	switch {
	case l.Recompute.String() != "full":
		return 0
	case l.RecomputeMethod == "block":
		return l.RecomputeLayers
	}
	return e.job.Model.Layers
}

// Releases of transformers that AutoEP, AutoTP and Ulysses work with: AutoEP
// needs the fused experts of 5.0 and fails on the output recorder that came with
// 5.21 (tried with 5.8.0, 5.20.0 and 5.23.0); AutoTP follows the plans of the
// classes, which all have one since 4.51.0 (4.48.0's of gemma2 names its head
// alone) and which name the norms of queries and keys since 5.4.0 (not yet
// 5.0.0); Ulysses checks for 4.51.3 itself.
var (
	transformersAutoTP       = number{4, 51, 0}
	transformersTensorNorms  = number{5, 4, 0}
	transformersAutoEP       = number{5, 0, 0}
	transformersBeforeAutoEP = number{5, 21, 0}
	transformersUlysses      = number{4, 51, 3}
)

// requires names the packages that the files need.
func (e *emitter) requires(config render.Object) render.Object {
	l := &e.plan.Layout
	wanted := render.Object{{Key: "minimum", Value: e.minimum(config).String()}, {Key: "before", Value: nil}, {Key: "why", Value: nil}}
	if l.DataParallelReplicate > 1 && l.DataParallelShard > 1 {
		wanted = replace(replace(wanted, "before", mics.before.String()), "why", "MiCS is gone since")
	}
	minimum := e.family.transformers
	var before, why any
	newer := func(v number) {
		if v.atLeast(minimum) {
			minimum = v
		}
	}
	if l.ExpertParallel > 1 {
		newer(transformersAutoEP)
		before, why = transformersBeforeAutoEP.String(), "AutoEP does not work with it"
	}
	if l.TensorParallel > 1 && e.version.has(headSplit) {
		newer(transformersAutoTP)
	}
	if l.TensorParallel > 1 && e.job.Model.Attention.QKNorm {
		newer(transformersTensorNorms)
	}
	if l.ContextParallel > 1 {
		newer(transformersUlysses)
	}
	if d := &e.job.Training.Data; d.DocumentMask || d.ResetPositionIDs {
		newer(e.family.masks)
	}
	transformers := render.Object{{Key: "minimum", Value: minimum.String()}, {Key: "before", Value: before}, {Key: "why", Value: why}}
	return render.Object{{Key: "deepspeed", Value: wanted}, {Key: "transformers", Value: transformers}}
}

// minimum is the oldest release that knows every key of the configuration and
// every feature of the layout.
func (e *emitter) minimum(config render.Object) number {
	l := &e.plan.Layout
	keys := leaves(config, "")
	for _, v := range versions {
		if l.ContextParallel > 1 && !v.has(ulysses) || l.ExpertParallel > 1 && l.ZeroStage == 3 && !v.has(autoEPZero3) ||
			l.TensorParallel > 1 && !e.cuts(v) {
			continue
		}
		if knowsAll(v, keys) {
			return v.number
		}
	}
	return e.version.number
}

// cuts reports whether AutoTP of another release cuts what the plan says.
func (e *emitter) cuts(v version) bool {
	return (v.has(autoTPZero3) || e.plan.Layout.ZeroStage < 3) && (v.has(autoTPNorms) || !e.job.Model.Attention.QKNorm) &&
		(v.has(headSplit) || !e.version.has(headSplit))
}

func knowsAll(v version, keys []string) bool {
	for _, k := range keys {
		if !v.options.Has(k) {
			return false
		}
	}
	return true
}
