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
	// What the Trainer takes where nothing is said (training_args.py).
	for path, standard := range map[string]struct {
		key   string
		value any
	}{
		"constraints.layout.micro_batch_size":  {"per_device_train_batch_size", int64(8)},
		"constraints.layout.micro_batches":     {"gradient_accumulation_steps", int64(1)},
		"constraints.layout.recompute":         {"gradient_checkpointing", "none"},
		"training.optimizer":                   {"optim", "adamw"},
		"training.optimizer.learning_rate":     {"learning_rate", 5e-5},
		"training.optimizer.weight_decay":      {"weight_decay", 0.0},
		"training.optimizer.beta1":             {"adam_beta1", 0.9},
		"training.optimizer.beta2":             {"adam_beta2", 0.999},
		"training.optimizer.epsilon":           {"adam_epsilon", 1e-8},
		"training.optimizer.gradient_clipping": {"max_grad_norm", 1.0},
		"training.schedule":                    {"lr_scheduler_type", "linear"},
		"training.seed":                        {"seed", int64(42)},
	} {
		if _, given := r.given[standard.key]; !given {
			d.Default(path, standard.value, draft.Place{})
		}
	}
	return true
}

// trainerOptions are the options of a command as keys: --bf16 True, --bf16, --lr=1.
func trainerOptions(words []Word) []Option {
	var all []Option
	for i := 0; i < len(words); i++ {
		name, dashes := strings.CutPrefix(words[i].Text, "--")
		if !dashes {
			continue
		}
		name, value, joined := strings.Cut(name, "=")
		k := key{path: strings.ReplaceAll(name, "-", "_"), at: words[i].At, open: words[i].Open}
		values := []string{value}
		if !joined {
			values = nil
		}
		for !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "--") {
			i++
			values, k.open = append(values, words[i].Text), k.open || words[i].Open
		}
		kind := "float"
		if len(values) == 1 && slices.Contains([]string{"true", "True", "false", "False"}, values[0]) {
			kind = "bool"
		}
		k.Value = spoken(schema.Option{Type: kind}, values)
		all = append(all, Option{k})
	}
	return all
}
