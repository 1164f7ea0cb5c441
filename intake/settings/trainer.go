package settings

import (
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
	r := (&dialect{kind: DeepSpeedKind, rules: rulesOf("trainer.jsonl"), strange: "an option of the training script, which ndc does not know"}).read(d, file, nil, options...)
	for name, u := range r.rules {
		if _, given := r.given[name]; u.Default != nil && !given {
			d.Default(u.Argument, typed(u.Argument, u.Default), draft.Place{})
		}
	}
	return true
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
