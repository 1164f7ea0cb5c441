package settings

import (
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
)

// Trainer reads a command that starts the Trainer of Hugging Face's transformers with
// DeepSpeed, whose options fill in what the configuration leaves to it, and reports
// whether it is one: a script with --deepspeed and the options that every Trainer has.
func Trainer(d *draft.Draft, file string, words []Word) bool {
	script := slices.IndexFunc(words, func(w Word) bool { return strings.HasSuffix(w.Text, ".py") })
	if script < 0 {
		return false
	}
	options := trainerOptions(words[script+1:])
	has := func(path string) bool {
		return slices.ContainsFunc(options, func(o Option) bool { return o.key.path == path })
	}
	if !has("deepspeed") && !has("deepspeed_config") || !has("output_dir") {
		return false
	}
	configured := map[string]draft.Value{} // by the configuration, which was read before
	for _, path := range []string{scheduleOf, optimizerOf} {
		if v, ok := d.Get(path); ok && v.Line > 0 {
			configured[path] = v
		}
	}
	kept := []string{clippingOf}
	if _, ok := configured[optimizerOf]; ok {
		kept = append(kept, ".weight_decay", ".beta1", ".beta2", ".epsilon")
	}
	settled := map[string]draft.Value{}
	for _, name := range kept {
		if v, ok := d.Get(optimizerOf + name); ok {
			settled[optimizerOf+name] = v
		}
	}
	r := (&dialect{kind: DeepSpeedKind, rules: rulesOf("trainer.jsonl"), strange: "an option of the training script, which ndc does not know"}).read(d, file, nil, options...)
	for name, u := range r.rules {
		if _, given := r.given[name]; u.Default != nil && !given {
			d.Default(u.Argument, typed(u.Argument, u.Default), draft.Place{})
		}
	}
	for path, option := range map[string]string{scheduleOf: "lr_scheduler_type", optimizerOf: "optim"} {
		if v, ok := configured[path]; ok {
			d.Set(path, v.Value, v.Place)
			r.ruling(option, draft.Left, "", "the configuration of DeepSpeed has one, which counts")
		}
	}
	for _, name := range []string{"max_grad_norm", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon"} {
		path := r.rules[name].Argument
		v, ok := settled[path]
		if !ok {
			continue
		}
		if now, _ := d.Get(path); now.Value != v.Value {
			r.ruling(name, draft.Left, "", "the Trainer fills in what the configuration of DeepSpeed has as auto alone")
		}
		d.Set(path, v.Value, v.Place)
	}
	r.warmup(configured[scheduleOf].Value != nil)
	return true
}

// Arguments that a configuration of DeepSpeed says before the Trainer does, also where it
// leaves them out: the Trainer fills in values that are auto (integrations/deepspeed.py:
// deepspeed_optim_sched, fill_match).
const (
	scheduleOf  = "training.schedule"
	optimizerOf = "training.optimizer"
	clippingOf  = ".gradient_clipping"
)

// warmup settles over how many steps the rate rises: a part of those of the run, and
// none where the Trainer's own schedule is constant (optimization.py:
// get_constant_schedule). The configuration's schedule has them in any case.
func (r *reading) warmup(configured bool) {
	const to = scheduleOf + ".warmup_steps"
	if k := r.given["lr_scheduler_type"]; k.Text() == "constant" && !configured {
		const why = "the rate is constant from the first step"
		r.d.Leave(to, why)
		r.ruling("warmup_ratio", draft.Left, "", why)
		return
	}
	k, given := r.given["warmup_ratio"]
	ratio, ok := k.Float()
	steps := r.d.Int("training.steps")
	if !given || k.open || !ok || ratio < 0 || ratio > 1 || steps <= 0 || r.d.Int(to) > 0 {
		return
	}
	if n := int64(math.Ceil(float64(steps) * ratio)); n > 0 {
		r.d.Set(to, n, r.at(k))
	}
	r.ruling("warmup_ratio", draft.Mapped, to, "")
}

// ruling changes what became of an option.
func (r *reading) ruling(name string, v draft.Verdict, to, why string) {
	k, given := r.given[name]
	for i := range r.d.Findings {
		if f := &r.d.Findings[i]; given && f.Name == name && f.Place == r.at(k) {
			f.Verdict, f.To, f.Why = v, to, why
		}
	}
}

// trainerOptions are the options of a command as keys: --bf16 True, --bf16, --lr=1.
func trainerOptions(words []Word) []Option {
	var all []Option
	for _, o := range spelledOptions(words) {
		kind := "float"
		if len(o.values) == 1 && slices.Contains([]string{"true", "True", "false", "False"}, o.values[0]) {
			kind = "bool"
		}
		k := key{path: strings.ReplaceAll(o.name, "-", "_"), at: o.at, open: o.open}
		k.Value = spoken(schema.Option{Type: kind}, o.values)
		all = append(all, Option{k})
	}
	return all
}
