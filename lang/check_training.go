package lang

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// setsImage reports whether a block or one in it sets a container image: one
// backend may run on the node itself while the others share mounts.
func (b *block) setsImage() bool {
	return b.spec.Name == "container" && b.has("image") || slices.ContainsFunc(b.blocks, (*block).setsImage)
}

func (c *checker) training() {
	t := &c.job.Training
	c.fp8(t)
	c.data(&t.Data)
	if t.Start.From != "scratch" && t.Start.Path == "" {
		c.fail(MissingArgument, c.at("training.start"), "A start from %q needs the argument \"path\": where the weights lie.", t.Start.From)
	}
	c.start(&t.Start)
	if p := t.Logging.Profile; p != nil {
		c.profile(p)
	}
	if r := t.BatchRamp; r != nil {
		c.ramp(t, r)
	}
	c.timeout(&t.Timeout)
}

// profile checks that there is something to trace.
func (c *checker) profile(p *job.Profile) {
	if p.EndStep <= p.StartStep {
		c.fail(InconsistentTraining, c.at("training.logging.profile.end_step"), "A profile from step %d must end after it, not at %d.", p.StartStep, p.EndStep)
	}
	for i, rank := range p.Ranks {
		switch gpus := c.job.Cluster.GPUs(); {
		case rank >= gpus && gpus > 0: // none: what is missing of the cluster is told
			c.fail(InconsistentTraining, c.at("training.logging.profile.ranks"), "There is no rank %d to trace: the job has %s, which count from 0.", rank, units.Count(gpus, "rank"))
		case slices.Contains(p.Ranks[:i], rank):
			c.fail(InconsistentTraining, c.at("training.logging.profile.ranks"), "Rank %d is named twice.", rank)
		}
	}
	if p.Ranks != nil && len(p.Ranks) == 0 {
		c.fail(InconsistentTraining, c.at("training.logging.profile.ranks"), "No rank is traced. Name one, such as 0, or remove profile.")
	}
}

// timeout checks that the first step, which waits for more, gets no less time
// than later ones. Frameworks count whole seconds.
func (c *checker) timeout(t *job.Timeout) {
	for _, limit := range []struct {
		name  string
		value units.Seconds
	}{{"collective", t.Collective}, {"first_step", t.FirstStep}} {
		if float64(limit.value) != math.Trunc(float64(limit.value)) {
			c.fail(InvalidValue, c.at("training.timeout."+limit.name), "%s is no whole number of seconds. Write one such as \"10m\" or \"90s\".", limit.value)
		}
	}
	if t.FirstStep > 0 && t.FirstStep < t.Collective {
		c.fail(InconsistentTraining, c.at("training.timeout.first_step"),
			"The first step connects all ranks and loads, so it needs no less time than a later one: %s is shorter than collective, %s.", t.FirstStep, t.Collective)
	}
}

// start checks that what is forgotten was there: only checkpoints hold more than
// weights.
func (c *checker) start(s *job.Start) {
	for _, name := range []string{"path", "reset_optimizer", "reset_schedule", "reset_data"} {
		path := "training.start." + name
		switch {
		case !c.job.Sources.IsSet(path):
		case s.From == "scratch":
			c.fail(InapplicableArgument, c.at(path), "%q has no effect on a start from scratch. Set from, or remove it.", name)
		case s.From == "huggingface" && name != "path":
			c.fail(InapplicableArgument, c.at(path), "%q has no effect on a start from huggingface, which holds weights only. Remove it.", name)
		}
	}
}

func (c *checker) fp8(t *job.Training) {
	low := t.Precision == "fp8" || t.Precision == "mxfp8" || t.Precision == "nvfp4"
	if at, written := c.job.Sources["training.fp8"]; written && !low {
		c.fail(InapplicableArgument, at.Range, "The fp8 block has no effect with precision %q. Set precision = \"fp8\", \"mxfp8\" or \"nvfp4\", or remove the block.", t.Precision)
	}
	if low && t.Precision != "fp8" && t.FP8.Recipe != "" {
		c.fail(InapplicableArgument, c.at("training.fp8.recipe"), "The recipe belongs to precision \"fp8\"; %s has its own. Remove it.", t.Precision)
	}
	first, last, layers := t.FP8.BF16FirstLayers, t.FP8.BF16LastLayers, c.job.Model.Layers
	if layers > 0 && first+last >= layers && first+last > 0 {
		name := "bf16_first_layers"
		if last > first {
			name = "bf16_last_layers"
		}
		c.fail(InconsistentTraining, c.at("training.fp8."+name), "%d first and %d last layers in bf16 leave none of %d in %s.", first, last, layers, t.Precision)
	}
}

// maxSizes is the most sizes of a growing batch: each is a whole number of
// micro-batches on every replica, and a launch may have to list them all in one
// word, of which Linux takes 128 KiB.
const maxSizes = 1 << 12

// ramp checks that the batch grows to the global batch in whole increments.
func (c *checker) ramp(t *job.Training, r *job.BatchRamp) {
	switch grow := t.GlobalBatchSize - r.Start; {
	case grow <= 0:
		c.fail(InconsistentTraining, c.at("training.batch_ramp.start"), "A ramp from %s must end higher, and global_batch_size is %d.", units.Count(r.Start, "sequence"), t.GlobalBatchSize)
	case grow%r.Increment != 0:
		c.fail(InconsistentTraining, c.at("training.batch_ramp.increment"), "From %d to %d there are %s, which is not a multiple of the increment, %d.", r.Start, t.GlobalBatchSize, units.Count(grow, "sequence"), r.Increment)
	case grow/r.Increment > maxSizes:
		c.fail(InconsistentTraining, c.at("training.batch_ramp.increment"), "From %d to %d in steps of %d the batch has %d sizes, and the most is %d. Take a larger increment.", r.Start, t.GlobalBatchSize, r.Increment, grow/r.Increment, maxSizes)
	case r.Sequences < int64(grow/r.Increment):
		c.fail(InconsistentTraining, c.at("training.batch_ramp.sequences"), "%s are too few for the %s of the ramp.", units.Count(r.Sequences, "sequence"), units.Count(grow/r.Increment, "stage"))
	}
}

func (c *checker) data(d *job.Data) {
	switch {
	case d.Mock && len(d.Sources) > 0:
		c.diags.Warn(UnreadData, c.at("training.data.mock"), summaries[UnreadData], "Mock data are made up, so the sources are not read. Remove mock to train on them.")
	case d.Mock:
	case d.Format == "":
		c.fail(MissingArgument, c.at("training.data"), "The block data needs the argument \"format\": \"megatron\", \"tokens\" or \"jsonl\". For a trial without data, write mock = true.")
	case len(d.Sources) == 0:
		c.fail(MissingBlock, c.at("training.data"), "The block data needs at least one block source \"…\" { path = … }. For a trial without data, write mock = true.")
	}
	total := 0.0
	for _, s := range d.Sources {
		total += s.Weight
		c.pair(d, "training.data.source["+strconv.Quote(s.Name)+"].path", s.Path)
	}
	if d.Validation != nil {
		c.pair(d, "training.data.validation.path", d.Validation.Path)
	}
	if len(d.Sources) > 0 && !(total > 0) {
		c.fail(InconsistentTraining, c.at("training.data.source"), "The weights of the sources add up to zero, so nothing would be read.")
	}
	if d.Split != "" {
		c.split(d)
	}
	if v := d.Validation; v != nil && v.Path == "" && d.Split == "" && !d.Mock {
		c.fail(MissingArgument, c.at("training.data.validation"), "Nothing is set aside for validation. Set \"path\" here, or split in the data block.")
	}
	c.tokenizer(d)
}

// split refuses shares that leave nothing for what reads them.
func (c *checker) split(d *job.Data) {
	at := c.at("training.data.split")
	shares, ok := job.Shares(d.Split)
	switch v := d.Validation; {
	case !ok:
		c.fail(InvalidValue, at, "%s is not up to three shares for training, validation and test, such as \"99,1,0\".", quoteShort(d.Split))
	case shares[0] == 0:
		c.fail(InconsistentTraining, at, "%s leaves nothing to train on: the first share is that of training.", quoteShort(d.Split))
	case v != nil && v.Path == "" && shares[1] == 0:
		c.fail(InconsistentTraining, at, "%s leaves nothing for the validation block: the second share is that of validation. Give it one, set \"path\" in the block, or remove the block.", quoteShort(d.Split))
	}
}

// pair refuses one file of a pair of Megatron-LM's, whose readers put the
// endings behind the path.
func (c *checker) pair(d *job.Data, argument, name string) {
	ending := path.Ext(name)
	if d.Mock || d.Format != "megatron" || ending != ".bin" && ending != ".idx" {
		return
	}
	c.fail(InvalidValue, c.at(argument), "%s is one file of two: data of format \"megatron\" are named without .bin and .idx. Write %q.",
		quoteShort(name), strings.TrimSuffix(name, ending))
}

func (c *checker) tokenizer(d *job.Data) {
	t := &d.Tokenizer
	if t.Kind != "none" && t.Path == "" && !d.Mock {
		c.fail(MissingArgument, c.at("training.data.tokenizer"), "A %s tokenizer needs the argument \"path\": where it lies on the cluster.", t.Kind)
	}
	if t.Kind == "none" && t.Path != "" {
		c.fail(InapplicableArgument, c.at("training.data.tokenizer.path"), "A tokenizer \"none\" has no path. Remove it, or name the kind.")
	}
	if d.Format == "jsonl" && t.Kind == "none" && !d.Mock {
		c.fail(MissingBlock, c.at("training.data.format"), "Text is tokenised on the fly, so format \"jsonl\" needs a block tokenizer \"huggingface\" { path = … } or another kind.")
	}
	if id := t.EndOfDocumentID; id.Set && c.job.Model.VocabSize > 0 && id.Value >= c.job.Model.VocabSize {
		c.fail(InconsistentTraining, c.at("training.data.tokenizer.end_of_document_id"), "The id %d is outside the model's vocabulary of %s.", id.Value, units.Count(c.job.Model.VocabSize, "token"))
	}
}

// Bounds that no run comes near and that keep arithmetic within 63 bits.
const (
	maxBatchTokens = 1e11
	maxTokens      = 1e17
)

// schedule settles tokens and steps, which follow from one another.
func (c *checker) schedule(b *block) {
	t := &c.job.Training
	tokens, hasTokens := getSet[int64](b, "tokens")
	steps, hasSteps := getSet[int64](b, "steps")
	switch {
	case hasTokens && hasSteps:
		c.fail(ConflictingArguments, c.at("training.steps"), "The length of the run is given twice: %s and %s. Keep one; the other follows.", units.Count(steps, "step"), units.Count(tokens, "token"))
		return
	case !hasTokens && !hasSteps:
		c.fail(MissingArgument, c.at("training"), "The block training needs \"tokens\" or \"steps\": the length of the run.")
		return
	}
	ramp, length := t.BatchRamp, c.job.Model.SequenceLength
	if t.GlobalBatchSize <= 0 || length <= 0 || ramp != nil && !sound(ramp, t.GlobalBatchSize) {
		return // that was reported
	}
	switch perStep := float64(t.GlobalBatchSize) * float64(length); {
	case perStep > maxBatchTokens:
		c.fail(OutOfRange, c.at("training.global_batch_size"), "%s of %s are %.1e tokens in one step, and the most is %.0e.", units.Count(t.GlobalBatchSize, "sequence"), units.Count(length, "token"), perStep, maxBatchTokens)
		return
	case hasSteps && float64(steps)*perStep > maxTokens:
		c.fail(OutOfRange, c.at("training.steps"), "%s of %.1e tokens are %.1e tokens, and the most is %.0e.", units.Count(steps, "step"), perStep, float64(steps)*perStep, maxTokens)
		return
	case ramp != nil && float64(ramp.Sequences)*float64(length) > maxTokens:
		c.fail(OutOfRange, c.at("training.batch_ramp.sequences"), "%s of %s are %.1e tokens, and the most is %.0e.", units.Count(ramp.Sequences, "sequence"), units.Count(length, "token"), float64(ramp.Sequences)*float64(length), maxTokens)
		return
	}
	if hasTokens {
		steps = t.StepsFor(tokens, length)
	} else {
		tokens = t.TokensOf(steps, length)
	}
	t.Steps, t.Tokens = int(steps), tokens
	c.rates(b.child("schedule"), length)
}

// rates settles the learning-rate schedule in steps.
func (c *checker) rates(b *block, length int) {
	t, kind := &c.job.Training, b.labelOr("constant")
	warmup, ok := c.either(b, "warmup", func(tokens int64) int64 { return t.StepsFor(tokens, length) })
	decay, fine := c.either(b, "decay", func(tokens int64) int64 {
		if kind == "wsd" {
			return t.LastStepsFor(tokens, length)
		}
		return t.StepsFor(t.TokensOf(warmup, length)+tokens, length) - warmup
	})
	if !ok || !fine {
		return
	}
	s := &t.Schedule
	s.Kind, s.WarmupSteps, s.DecaySteps = kind, int(warmup), int(decay)
	if s.Kind != "constant" {
		s.MinimumLearningRate = b.number("minimum_learning_rate")
	}
	if s.Kind == "wsd" {
		s.DecayShape = b.textOr("decay_shape", "linear")
		if decay == 0 {
			s.DecaySteps = max(1, min(t.Steps/10, t.Steps-s.WarmupSteps))
		}
	}
	c.fits(s, t)
}

// either reads NAME_steps or NAME_tokens in steps.
func (c *checker) either(b *block, name string, convert func(tokens int64) int64) (int64, bool) {
	steps := get[int64](b, name+"_steps")
	if !b.has(name + "_tokens") {
		return steps, true
	}
	if b.has(name + "_steps") {
		c.fail(ConflictingArguments, b.argAt(name+"_tokens"), "%s_steps and %s_tokens say the same thing twice. Keep one.", name, name)
		return 0, false
	}
	delete(c.job.Sources, "training.schedule."+name+"_steps") // its default does not hold
	return convert(get[int64](b, name+"_tokens")), true
}

func (c *checker) fits(s *job.Schedule, t *job.Training) {
	name := "warmup_steps"
	if !c.job.Sources.IsSet("training.schedule.warmup_steps") {
		name = "warmup_tokens"
	}
	switch {
	case s.WarmupSteps > t.Steps:
		c.fail(InconsistentTraining, c.at("training.schedule."+name), "A warm-up of %s is longer than the run of %d.", units.Count(s.WarmupSteps, "step"), t.Steps)
	case s.DecaySteps > 0 && s.WarmupSteps+s.DecaySteps > t.Steps && s.WarmupSteps < t.Steps:
		name := "decay_steps"
		if !c.job.Sources.IsSet("training.schedule.decay_steps") {
			name = "decay_tokens"
		}
		c.fail(InconsistentTraining, c.at("training.schedule."+name), "A warm-up of %d and a decay of %s do not fit into a run of %s.", s.WarmupSteps, units.Count(s.DecaySteps, "step"), units.Count(t.Steps, "step"))
	}
	if s.MinimumLearningRate > t.Optimizer.LearningRate {
		c.fail(InconsistentTraining, c.at("training.schedule.minimum_learning_rate"),
			"minimum_learning_rate, %s, is above learning_rate, %s.", formatNumber(s.MinimumLearningRate), formatNumber(t.Optimizer.LearningRate))
	}
}

// sound reports whether a batch grows to the global one.
func sound(r *job.BatchRamp, global int) bool {
	return r.Start > 0 && r.Increment > 0 && r.Start < global && r.Sequences > 0 && r.Sizes(global) <= maxSizes
}

// needs says what arithmetic a precision asks of a GPU.
type needs struct {
	peak       func(*job.PeakFLOPS) units.FLOPsPerSecond
	capability int // least major compute capability; 0: any
	before     int // the first major compute capability without it, where capability is not 0
}

var precisions = map[string]needs{
	"bf16":  {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.BF16 }, 0, 0},
	"fp16":  {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.FP16 }, 0, 0},
	"fp32":  {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.FP32 }, 0, 0},
	"fp8":   {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.FP8 }, 0, 0},
	"mxfp8": {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.FP8 }, 10, 12}, // Transformer Engine and torchao have no kernels of block-scaled products for 12.x
	"nvfp4": {func(p *job.PeakFLOPS) units.FLOPsPerSecond { return p.FP4 }, 10, 12},
}

// offers reports whether a GPU has a precision.
func offers(g *job.GPU, precision string) bool {
	n := precisions[precision]
	if n.capability > 0 && g.ComputeCapability != "" && (g.Generation() < n.capability || g.Generation() >= n.before) {
		return false
	}
	return n.peak(&g.PeakFLOPS) > 0
}

// precision checks that the GPU has the arithmetic, and names what has.
func (c *checker) precision() {
	g, want := &c.job.Cluster.GPU, c.job.Training.Precision
	if _, known := precisions[want]; !known || offers(g, want) || g.PeakFLOPS == (job.PeakFLOPS{}) {
		return
	}
	var have, others []string
	for _, p := range []string{"bf16", "fp16", "fp32", "fp8", "mxfp8", "nvfp4"} {
		if offers(g, p) {
			have = append(have, p)
		}
	}
	for _, name := range catalog.Names("gpu") {
		if n := c.catalogNode("gpu", name); n != nil {
			c.settle(n, nil)
			if other := decodeGPU(n.tree); offers(&other, want) {
				others = append(others, name)
			}
		}
	}
	c.fail(UnsupportedPrecision, c.at("training.precision"),
		"The GPU %s has no %s arithmetic; it has %s. Of the catalogue's GPUs, these have %s: %s.", g.Name, want, strings.Join(have, ", "), want, strings.Join(others, ", "))
}
