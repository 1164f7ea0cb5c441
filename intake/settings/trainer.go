package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// Trainer reads a command that starts the Trainer of Hugging Face's transformers with
// DeepSpeed, whose options fill in what the configuration leaves to it, and reports
// whether it is one: a script with --deepspeed FILE and the option that every Trainer has.
// Behind --deepspeed_config, which deepspeed.add_config_arguments makes, is another program.
func Trainer(d *draft.Draft, file string, words []Word) bool {
	options := startsTrainer(words)
	if options == nil {
		return false
	}
	fill(d, file, nil, options)
	return true
}

// Accelerated is Trainer of a command of accelerate, whose own configuration says that
// DeepSpeed runs it: the program then has the Trainer's options of its batch. Those without the
// Trainer say so by their names (transformers 5.8.0, examples/pytorch).
func Accelerated(d *draft.Draft, file string, words []Word) bool {
	options := accelerated(words)
	if options == nil {
		return false
	}
	fill(d, file, nil, options)
	return true
}

func accelerated(words []Word) []Option {
	if script := Program(words); AccelerateLaunch(words) < 0 || script < 0 || strings.HasSuffix(words[script].Text, "_no_trainer.py") {
		return nil
	}
	return optionsWith(words, "per_device_train_batch_size")
}

// startsTrainer are the options of a command with --deepspeed FILE; nil for another one.
func startsTrainer(words []Word) []Option { return optionsWith(words, "deepspeed") }

// optionsWith are the options of a command's program, where that has one of those that tell of
// the Trainer, and another one. Where it saves need not be said (transformers 5.8.0,
// training_args.py).
func optionsWith(words []Word, another string) []Option {
	script := Program(words)
	if script < 0 {
		return nil
	}
	options := TrainerOptions(words[script+1:])
	has := func(path string) bool {
		return slices.ContainsFunc(options, func(o Option) bool { return o.key.path == path && o.key.Value != true })
	}
	if !has(another) || !has("output_dir") && !has("per_device_train_batch_size") {
		return nil
	}
	return options
}

// TrainsOther is an error where a command starts the Trainer for something else than all
// weights on text.
func TrainsOther(words []Word) error {
	options := append(startsTrainer(words), accelerated(words)...)
	if len(Loose(words)) > 0 {
		return other(nil, options)
	}
	return cmp.Or(other(nil, options), adapts(nil, options))
}

// adapts is an error where LLaMA-Factory is not told what it trains, which are adapters then.
func adapts(root tree.Object, options []Option) error {
	says := func(key string, values ...string) bool {
		_, ok := root.Find(key)
		return ok || slices.ContainsFunc(options, func(o Option) bool {
			return o.key.path == key && (values == nil || slices.Contains(values, word(o.key.Node)))
		})
	}
	if says("stage", "pt", "sft") && !says("finetuning_type") {
		return errors.New("LLaMA-Factory trains adapters where no finetuning_type is said, and ndc plans the training of all weights")
	}
	return nil
}

// other is an error where the options of a file, before which those of the command line
// count, train something else than all weights on text.
func other(root tree.Object, options []Option) error {
	said := map[string]bool{}
	for _, o := range options {
		said[o.key.path] = true
	}
	stands := func(key string) bool {
		_, ok := root.Find(key)
		return ok || said[key]
	}
	of := func(key string, n tree.Node, line int) error {
		if u := rulesOf("trainer.jsonl").of(key); u != nil && u.Other != "" && !slices.Contains(u.Only, word(n)) && !slices.ContainsFunc(u.Unless, stands) {
			return fmt.Errorf("line %d: %s %s: %s", line, key, word(n), u.Other)
		}
		return nil
	}
	for _, o := range options {
		if err := of(o.key.path, o.key.Node, o.key.at.Line); err != nil && !o.key.open {
			return err
		}
	}
	for _, m := range root {
		if err := of(m.Key, m.Node, m.Line); err != nil && !said[m.Key] {
			return err
		}
	}
	return nil
}

// IsTrainer reports a file of options of the Trainer, as LLaMA-Factory and TRL are started
// with.
func IsTrainer(o tree.Object) bool {
	_, saves := o.Find("output_dir")
	_, batch := o.Find("per_device_train_batch_size")
	return saves && batch
}

// ReadTrainer reads such a file beside the configuration of DeepSpeed, before which options
// of the command line count. It is an error where something else is trained than all weights
// on text.
func ReadTrainer(d *draft.Draft, file string, root tree.Object, options ...Option) error {
	if err := cmp.Or(other(root, options), adapts(root, options)); err != nil {
		return err
	}
	fill(d, file, root, options)
	said := func(name string) (tree.Node, bool) {
		if i := slices.IndexFunc(options, func(o Option) bool { return o.key.path == name }); i >= 0 {
			return options[i].key.Node, true
		}
		return root.Find(name)
	}
	const recompute, rate, length = "constraints.layout.recompute", optimizerOf + ".learning_rate", "model.sequence_length"
	if _, factory := said("finetuning_type"); factory { // its defaults: hparams/model_args.py, data_args.py
		d.Set(recompute, "full", draft.Place{})
		if off, _ := said("disable_gradient_checkpointing"); word(off) == "true" {
			d.Set(recompute, "none", draft.Place{})
		}
		d.Default(length, int64(2048), draft.Place{})
		return nil
	}
	// Programs on top of the Trainer have defaults of their own, as TRL does.
	if _, ok := said("gradient_checkpointing"); !ok {
		d.Remove(recompute)
	}
	if _, ok := said("learning_rate"); !ok {
		d.Remove(rate)
		d.Ask(rate)
	}
	d.Ask(length)
	return nil
}

// fill reads options of the Trainer over a configuration of DeepSpeed that was read before.
func fill(d *draft.Draft, file string, root tree.Object, options []Option) {
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
	r := (&dialect{kind: DeepSpeedKind, rules: rulesOf("trainer.jsonl"), strange: "an option of the training script, which ndc does not know"}).read(d, file, root, options...)
	own := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(r.given)) {
		if u := r.rules.of(name); u != nil {
			maps.Copy(own, u.Program)
		}
	}
	for name, u := range r.rules {
		_, given := r.given[name]
		v, differs := own[u.Argument]
		if !differs {
			v = u.Default
		}
		if u.Default != nil && v != nil && !given {
			d.Default(u.Argument, typed(u.Argument, v), draft.Place{})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.given)) {
		if k, u := r.given[name], r.rules.of(name); u != nil && u.Call == "instead" && word(k.Node) == "true" {
			r.label(k, u.Argument, optimizerOfSwitch(name))
			r.ruling("optim", draft.Left, "", name+" has another optimizer in its place")
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
}

// optimizerOfSwitch is the optimizer that a switch has in the place of the Trainer's.
func optimizerOfSwitch(key string) string { return strings.TrimPrefix(key, "use_") }

// instead reads such a switch. What it sets follows from all options, since it counts before
// the Trainer's wherever it stands.
func instead(_ *reading, k key, u *rule) outcome {
	if word(k.Node) == "false" {
		return left("off")
	}
	if _, ok := convert(u.Argument, tree.Node{Value: optimizerOfSwitch(k.path)}); !ok {
		return unknown("no value of " + u.Argument)
	}
	return outcome{to: u.Argument}
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
		r.ruling("warmup_steps", draft.Left, "", why)
		return
	}
	name := "warmup_ratio"
	k, given := r.given[name]
	if share, ok := r.given["warmup_steps"].Float(); ok && share > 0 && share < 1 && !given { // training_args.py: get_warmup_steps
		name = "warmup_steps"
		k, given = r.given[name]
		r.ruling(name, draft.Unknown, "", "it is a part of the run, whose steps nobody says")
	}
	ratio, ok := k.Float()
	steps := r.d.Int("training.steps")
	if !given || k.open || !ok || ratio < 0 || ratio > 1 || steps <= 0 && ratio > 0 || r.d.Int(to) > 0 {
		return
	}
	if n := int64(math.Ceil(float64(steps) * ratio)); n > 0 {
		r.d.Set(to, n, r.at(k))
	}
	r.ruling(name, draft.Mapped, to, "")
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

// truths are the words that HfArgumentParser takes for truth values (hf_argparser.py:
// string_to_bool).
var truths = map[string]bool{"yes": true, "true": true, "t": true, "y": true, "1": true, "no": false, "false": false, "f": false, "n": false, "0": false}

// TrainerOptions are the options of a command as keys: --bf16 True, --bf16, --lr=1.
func TrainerOptions(words []Word) []Option {
	var all []Option
	for _, o := range spelledOptions(words) {
		k := key{path: strings.ReplaceAll(o.name, "-", "_"), at: o.at, open: o.open}
		text := strings.ToLower(strings.Join(o.values, " "))
		on, isTruth := truths[text]
		u := rulesOf("trainer.jsonl").of(k.path)
		switched := u != nil && (u.Values["true"] != nil || slices.Contains(u.Only, "false"))
		if isTruth && (switched || text == "true" || text == "false") {
			k.Value = on
		} else {
			k.Value = spoken(schema.Option{Type: "float"}, o.values)
		}
		all = append(all, Option{k})
	}
	return all
}
