package megatron

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/lang/job"
)

func (r *reading) optimizer() {
	const o = "training.optimizer"
	d := r.d
	r.unless(o, "adamw")
	switch d.Text(o) {
	case "sgd":
		for _, name := range []string{".beta1", ".beta2", ".epsilon"} {
			d.Remove(o + name)
		}
		r.unless(o+".momentum", r.defaultOf("--sgd-momentum", 0.9))
	case "muon":
		r.unless(o+".momentum", r.defaultOf("--muon-momentum", 0.9))
	default:
		d.Remove(o + ".momentum")
	}
}

// samples makes steps of a number of sequences, the last of which may read some
// beyond them; false where the batch is not known.
func (r *reading) samples(n int64) (int64, bool) {
	steps, _, ok := r.after(n)
	return steps, ok
}

// whole is the number of steps that a number of sequences has: Megatron-LM throws a
// last batch away that is no whole one (training.py, update_train_iters).
func (r *reading) whole(n int64) (int64, bool) {
	steps, read, ok := r.after(n)
	if read > n {
		steps--
	}
	return steps, ok
}

// after is the steps that read so many sequences, and what they have read.
func (r *reading) after(n int64) (taken, read int64, ok bool) {
	global := r.d.Int("training.global_batch_size")
	if global <= 0 || n < 0 || n > math.MaxInt64-global {
		return 0, 0, false
	}
	if ramp := r.growth(global); ramp != nil {
		taken, read = ramp.After(int(global), math.MaxInt64, n)
		return taken, read, true
	}
	taken = (n + global - 1) / global
	return taken, taken * global, true
}

// growth is how the batch grows to that of the run; nil where it does not.
func (r *reading) growth(global int64) *job.BatchRamp {
	ramp := &job.BatchRamp{
		Start: int(r.d.Int("training.batch_ramp.start")), Increment: int(r.d.Int("training.batch_ramp.increment")), Sequences: r.d.Int("training.batch_ramp.sequences"),
	}
	if ramp.Start > 0 && ramp.Increment > 0 && ramp.Sequences > 0 && int64(ramp.Start) <= global && ramp.Sizes(int(global)) > 0 {
		return ramp
	}
	return nil
}

// part is how many of the first of so many steps a part of them takes. Megatron-LM counts
// sequences (training.py, get_optimizer_param_scheduler), of which steps of a batch that
// still grows have fewer.
func (r *reading) part(f float64, steps int64) int64 {
	global := r.d.Int("training.global_batch_size")
	if ramp := r.growth(global); ramp != nil {
		_, read := ramp.After(int(global), steps, math.MaxInt64)
		steps, _ = r.samples(int64(math.Round(f * float64(read))))
		return steps
	}
	return int64(math.Round(f * float64(steps)))
}

// tokens is the number of tokens of an option in steps, of which the last one is
// begun; false where it is not given, or nobody knows how many a step has.
func (r *reading) tokens(dest string) (int64, bool) {
	o, length := r.given[dest], r.d.Int("model.sequence_length")
	if o == nil || length <= 0 {
		return 0, false
	}
	n, ok := r.number(o)
	if !ok || n <= 0 || n >= 1<<62 {
		return 0, false
	}
	return r.samples((int64(n) + length - 1) / length)
}

// steps is the number of an option in steps, or of its twin in sequences, which count
// makes steps of.
func (r *reading) steps(inSteps, inSamples string, count func(int64) (int64, bool)) (int64, *option) {
	if o := r.given[inSteps]; o != nil {
		n, err := strconv.ParseInt(o.first(), 10, 64)
		if err == nil {
			return n, o
		}
	}
	if o := r.given[inSamples]; o != nil {
		if n, err := strconv.ParseInt(o.first(), 10, 64); err == nil {
			if steps, ok := count(n); ok {
				return steps, o
			}
		}
	}
	return 0, nil
}

func (r *reading) schedule() {
	const s = "training.schedule"
	d := r.d
	if length := d.Int("model.sequence_length"); r.rampTokens > 0 && length > 0 {
		r.set("training.batch_ramp.sequences", max(1, int64(r.rampTokens)/length))
	}
	r.uncounted()
	total, _ := r.steps("train_iters", "train_samples", r.whole)
	if tokens, ok := r.tokens("train_tokens"); ok && (total == 0 || tokens < total) {
		total = tokens
	}
	if total > 0 {
		d.Set("training.steps", total, draft.Place{})
	}
	decay, _ := r.steps("lr_decay_iters", "lr_decay_samples", r.whole)
	if tokens, ok := r.tokens("lr_decay_tokens"); ok {
		decay = tokens
	}
	if decay == 0 {
		decay = total
	}
	warmup, share := r.warmUp(decay)
	r.unless(s, "linear")
	d.Remove(s + ".warmup_steps")
	if warmup > 0 {
		r.set(s+".warmup_steps", warmup)
	} else if share != "" {
		d.Withdraw(s+".warmup_steps", "how many steps it is goes with those of the run, which are not known")
		d.Note(s, draft.NotSaid+"a warm-up over "+share+" of the steps")
	}
	r.decay(warmup, decay, total)
	const beyond = "it ends at step %d, and the run at %d: the schedule of a job ends with its run"
	switch end := warmup + d.Int(s+".decay_steps"); {
	case total > 0 && warmup > total:
		d.Withdraw(s+".decay_steps", fmt.Sprintf(beyond, max(decay, warmup), total))
		d.Withdraw(s+".warmup_steps", fmt.Sprintf(beyond, warmup, total))
	case total > 0 && end > total:
		d.Withdraw(s+".decay_steps", fmt.Sprintf(beyond, end, total))
	}
}

// warmUp is in how many of the schedule's steps the rate rises. Where a share says it, and not
// how many steps there are, it is the share as it is written.
func (r *reading) warmUp(decay int64) (steps int64, share string) {
	steps, _ = r.steps("lr_warmup_iters", "lr_warmup_samples", r.samples)
	if o := r.given["lr_warmup_fraction"]; o != nil {
		if f, ok := r.number(o); ok && f >= 0 && f < 1 && decay > 0 {
			steps = r.part(f, decay)
		} else if ok && f > 0 {
			steps, share = 0, o.first()
		}
	}
	if tokens, ok := r.tokens("lr_warmup_tokens"); ok {
		steps = tokens
	}
	return steps, share
}

// decay says how the rate falls: in how many steps, by which shape and to what.
func (r *reading) decay(warmup, decay, total int64) {
	const s = "training.schedule"
	d := r.d
	kind := d.Text(s)
	n, wsd := r.steps("lr_wsd_decay_iters", "", r.whole)
	switch {
	case wsd == nil:
	case kind != "wsd":
		d.Correct(wsd.line, wsd.name, draft.Left, "", "it acts beside --lr-decay-style WSD alone")
	case n == 0 && decay == total: // the rate falls in another run
		kind = "constant"
		r.set(s, kind)
		d.Correct(wsd.line, wsd.name, draft.Mapped, s, "")
	}
	if kind != "wsd" {
		d.Leave(s+".decay_shape", "the rate does not fall so")
		d.Remove(s + ".decay_steps")
		if decay > warmup && decay != total && kind != "constant" {
			r.set(s+".decay_steps", decay-warmup)
		}
	} else {
		if wsd != nil && n > 0 {
			r.set(s+".decay_steps", n)
		} else if n, ok := r.samplesAtEnd(); ok {
			r.set(s+".decay_steps", n)
		}
		r.unless(s+".decay_shape", "exponential")
	}
	switch {
	case kind == "constant":
		d.Leave(s+".minimum_learning_rate", "a constant rate does not fall")
		for _, dest := range []string{"lr_decay_iters", "lr_decay_samples", "lr_decay_tokens"} {
			if o := r.given[dest]; o != nil {
				d.Correct(o.line, o.name, draft.Left, "", "a constant rate does not fall")
			}
		}
	case d.Float(s+".minimum_learning_rate") == 0:
		d.Remove(s + ".minimum_learning_rate")
	}
}

// rollouts reads what slime counts in rollouts, each of which is a number of steps on what the
// model has generated in it (slime 624b824a, slime/utils/arguments.py: slime_validate_args).
func (r *reading) rollouts() {
	const batch, steps, saved = "training.global_batch_size", "training.steps", "training.checkpoint.interval"
	d := r.d
	read := func(name, to string) int64 {
		o := r.given[name]
		if o == nil {
			return 0
		}
		n, err := strconv.ParseInt(o.first(), 10, 64)
		if o.open || err != nil || n < 1 {
			d.Correct(o.line, o.name, draft.Unknown, "", draft.OnlyRunKnows)
			return 0
		}
		d.Correct(o.line, o.name, draft.Mapped, to, "")
		return n
	}
	sequences, each := read("--rollout-batch-size", batch), read("--num-steps-per-rollout", batch)
	if r.given["--n-samples-per-prompt"] != nil {
		sequences *= read("--n-samples-per-prompt", batch)
	}
	if global := d.Int(batch); each == 0 && global > 0 && sequences%global == 0 {
		each = sequences / global
	} else if each > 0 && sequences > 0 && sequences%each == 0 && !r.unread[batch] {
		r.unless(batch, sequences/each)
	}
	if each == 0 {
		if r.apart("--eval-interval") != "" {
			d.Withdraw(saved, "it counts rollouts, and how many steps each has is not known")
		}
		return
	}
	if v, ok := d.Get(saved); ok {
		d.Set(saved, d.Int(saved)*each, v.Place)
	}
	if n := read("--num-rollout", steps); n > 0 {
		r.unless(steps, n*each)
	}
}

// uncounted names what the launch counts in sequences or tokens where nobody knows
// how many of them a step has.
func (r *reading) uncounted() {
	if r.d.Int("training.global_batch_size") > 0 {
		return
	}
	for _, dest := range []string{"train_samples", "lr_decay_samples", "lr_warmup_samples", "lr_wsd_decay_samples", "train_tokens", "lr_decay_tokens", "lr_warmup_tokens"} {
		o := r.given[dest]
		for i := range r.d.Findings {
			if f := &r.d.Findings[i]; o != nil && f.Place == o.line && f.Name == o.name && f.Verdict == draft.Mapped {
				f.Verdict, f.To, f.Why = draft.Unknown, "", "how many steps it is goes with the batch, which is known only when the script runs"
				if !r.words["--global-batch-size"] {
					f.Why = "how many steps it is goes with the batch, which --global-batch-size does not say"
				}
			}
		}
	}
}

// samplesAtEnd is how many steps the last sequences of a run take, over which
// the rate falls.
func (r *reading) samplesAtEnd() (int64, bool) {
	all, decay := r.given["train_samples"], r.given["lr_wsd_decay_samples"]
	if all == nil || decay == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(all.first(), 10, 64)
	m, err2 := strconv.ParseInt(decay.first(), 10, 64)
	if err != nil || err2 != nil || m > n {
		return 0, false
	}
	total, ok := r.whole(n)
	before, ok2 := r.whole(n - m)
	return total - before, ok && ok2
}

func (r *reading) data() {
	const data = "training.data"
	d := r.d
	mock := d.Bool(data + ".mock")
	iterations := int64(r.defaultOf("--eval-iters", 100))
	if o := r.given["eval_iters"]; o != nil {
		iterations = r.integer("eval_iters", "--eval-iters")
	}
	validates := iterations > 0 && r.apart("--eval-interval") == ""
	if validates {
		interval := int64(1000) // validate_args takes it where none is given
		if r.has("eval_interval") {
			interval = r.integer("eval_interval", "--eval-interval")
		}
		if interval > 0 {
			r.set(data+".validation.interval", interval)
			r.set(data+".validation.steps", iterations)
		}
		if !mock && !d.Has(data+".validation.path") {
			r.unless(data+".split", "969,30,1") // Megatron-LM's own
		}
	}
	if shares, ok := job.Shares(d.Text(data + ".split")); ok && shares[1] == 0 && validates && !r.has("train_data_path") {
		for _, name := range []string{"interval", "steps"} {
			d.Leave(data+".validation."+name, "the split leaves nothing to validate on")
		}
		validates = false
	}
	if !validates {
		d.RemoveBlock(data + ".validation")
		if d.Text(data+".split") == "100,0,0" {
			d.Remove(data + ".split")
		}
	}
	if mock {
		d.RemoveBlock(data + ".source")
		d.Remove(data + ".format")
		d.Leave(data+".split", "data that are made up are not split")
	} else if r.has("train_data_path") { // all of it is trained on, and nothing of it validates
		d.Leave(data+".split", "training and validation have sources of their own")
		if !d.Has(data + ".validation.path") {
			for _, name := range []string{"interval", "steps"} {
				d.Leave(data+".validation."+name, "no source of validation is known")
			}
			d.RemoveBlock(data + ".validation")
		}
	}
	r.tokenizer()
}

func (r *reading) tokenizer() {
	const t = "training.data.tokenizer"
	d := r.d
	kind := d.Text(t)
	switch {
	case kind == "none":
		d.Leave(t+".path", "a tokenizer without words reads no file")
	case kind == "":
		d.Withdraw(t+".path", "which tokenizer reads it is not known")
	}
	if kind != "" && kind != "none" && !d.Has(t+".path") {
		d.Withdraw(t, "no --tokenizer-model is known")
		d.RemoveBlock(t)
		return
	}
	if kind != "none" {
		d.Remove(t + ".end_of_document_id")
		return
	}
	if size := d.Int("model.vocab_size"); !r.table.Has("--null-tokenizer-eod-id") && r.has("vocab_size") {
		r.set("model.vocab_size", size+1) // the release adds an id that ends documents
	} else if d.Int(t+".end_of_document_id") == size-1 {
		d.Remove(t + ".end_of_document_id") // the last id, as ndc takes it
		d.Remove(t)
	}
}

func (r *reading) checkpoint() {
	const c, start = "training.checkpoint", "training.start"
	d := r.d
	path := d.Text(c + ".path")
	switch {
	case path == "" && r.has("save") && r.given["save"].open: // where to is asked for
		d.Ask(c + ".path")
	case path == "":
		why := "nothing is saved without --save"
		if r.has("save") {
			why = "no folder to save to is known"
		}
		d.LeaveBlock(c, why)
	}
	if path != "" && !d.Has(c+".interval") && !r.unread[c+".interval"] {
		d.Note(c, "the launch saves at its end alone")
	}
	const whichRun = "which checkpoint is loaded is known only when the script runs"
	load, from := r.given["load"], ""
	if load != nil {
		from = strings.TrimSuffix(load.first(), "/"+Kind)
	}
	weights, first := r.given["pretrained_checkpoint"], ""
	if load != nil {
		first = before(load, path)
	}
	known := weights != nil && legalPath(weights.first()) && !weights.own
	if weights != nil && !known {
		d.Withdraw(start, whichRun)
	}
	switch {
	case known:
		r.set(start+".from", "checkpoint")
		r.set(start+".path", weights.first())
		r.reset()
	case first != "":
		r.set(start+".from", "checkpoint")
		r.set(start+".path", first)
	case load == nil || from == path || path != "" && load.first() == path:
	case !load.open && (from == "None" || from == ""): // as of a value of Python that is not set
		d.Correct(load.line, load.name, draft.Left, "", "Megatron-LM finds no checkpoint there, and starts from random weights")
	case legalPath(load.first()) && (!load.open || below.MatchString(load.first()) && !load.own):
		r.set(start+".from", "checkpoint")
		r.set(start+".path", load.first())
		d.Correct(load.line, load.name, draft.Mapped, start, "")
		if r.has("finetune") || r.has("no_load_optim") {
			r.reset()
		}
	default:
		d.Correct(load.line, load.name, draft.Unknown, "", whichRun)
	}
	if p := "training.logging.profile"; r.has("profile") {
		r.unless(p+".start_step", int64(r.defaultOf("--profile-step-start", 10)))
		r.unless(p+".end_step", int64(r.defaultOf("--profile-step-end", 12)))
		if !r.has("use_pytorch_profiler") {
			r.set(p+".tool", "nsys")
		}
	} else {
		d.LeaveBlock(p, "nothing is traced without --profile")
	}
	if p := "training.logging.wandb"; !d.Has(p + ".project") {
		if r.words["--wandb-project"] {
			d.Withdraw(p+".entity", "no --wandb-project is known")
		}
		d.LeaveBlock(p, "nothing is logged there without --wandb-project")
	}
}

// before is what a launch loads as long as the run has no checkpoint of its own at
// a path, as ndc emits it; "" where it does not say so.
func before(load *option, path string) string {
	if len(load.values) != 1 || len(load.values[0].Among) != 2 {
		return ""
	}
	own := func(s string) bool { return s == path || s == path+"/"+Kind }
	first, other := load.values[0].Among[0], load.values[0].Among[1]
	if own(first) {
		first, other = other, first
	}
	if path == "" || !own(other) || own(first) || !legalPath(first) {
		return ""
	}
	return first
}

// reset takes the weights of a checkpoint alone.
func (r *reading) reset() {
	for _, what := range []string{"optimizer", "schedule", "data"} {
		r.set("training.start.reset_"+what, true)
	}
}

// times reads how long ranks wait: minutes until the first step, and seconds
// after it, which are the same where nothing else is said.
func (r *reading) times() {
	const t = "training.timeout"
	minutes := r.integer("distributed_timeout_minutes", "--distributed-timeout-minutes")
	seconds := r.given["distributed_timeout_seconds_after_init"]
	if !r.has("distributed_timeout_minutes") && seconds == nil || minutes <= 0 {
		return
	}
	r.set(t+".collective", fmt.Sprintf("%dm", minutes))
	if o := r.given["distributed_timeout_minutes"]; o != nil && seconds == nil {
		r.d.Correct(o.line, o.name, draft.Mapped, t+".collective", "")
	}
	if seconds != nil {
		r.set(t+".collective", seconds.first()+"s")
		r.set(t+".first_step", fmt.Sprintf("%dm", minutes))
	}
}
