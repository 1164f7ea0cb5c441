package settings

import (
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// DeepSpeedKind is the kind of DeepSpeed's backend.
const DeepSpeedKind = "deepspeed"

// IsDeepSpeed reports a configuration of DeepSpeed by its keys.
func IsDeepSpeed(o tree.Object) bool {
	for _, key := range []string{"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"} {
		if _, ok := o.Find(key); ok {
			return true
		}
	}
	return false
}

// ReadDeepSpeed reads a configuration of DeepSpeed; version is a release, ""
// the newest.
func ReadDeepSpeed(d *draft.Draft, file, version string, root tree.Object) {
	versions := deepspeed.Backend{}.Versions()
	if version == "" {
		version = versions[len(versions)-1]
	}
	x := &dialect{kind: DeepSpeedKind, version: version, readers: deepSpeedReaders, renamed: map[string]string{
		"zero_optimization.cpu_offload": "zero_optimization.cpu_offload", "train_micro_batch_size": "train_micro_batch_size_per_gpu",
	}, spell: func(k key) string { return k.path + "=" + strings.ReplaceAll(k.Node.String(), "\n", " ") }}
	x.table, x.classes = deepspeed.Tables(version)
	if x.table == nil {
		x.version = versions[len(versions)-1]
		x.table, x.classes = deepspeed.Tables(x.version)
	}
	x.read(d, file, root)
	if !d.Has("training.precision") {
		for _, path := range []string{"fp16.enabled", "bf16.enabled"} {
			if k, ok := find(root, path); ok && k.Text() == "auto" {
				return // the launcher's to say
			}
		}
		d.Set("training.precision", "fp32", draft.Place{})
	}
}

func find(o tree.Object, path string) (tree.Node, bool) {
	name, rest, nested := strings.Cut(path, ".")
	n, ok := o.Find(name)
	if !nested || !ok {
		return n, ok
	}
	return find(n.Object(), rest)
}

var deepSpeedReaders = map[string]func(*reading, key) outcome{
	"train_batch_size":                           to("training.global_batch_size"),
	"gradient_accumulation_steps":                to("constraints.layout.micro_batches"),
	"bf16.enabled":                               precision("bf16"),
	"bfloat16.enabled":                           precision("bf16"),
	"fp16.enabled":                               precision("fp16"),
	"optimizer.type":                             words("training.optimizer", map[string]any{"AdamW": "adamw", "Adam": "adamw", "SGD": "sgd", "Muon": "muon"}),
	"optimizer.params.lr":                        to("training.optimizer.learning_rate"),
	"optimizer.params.betas":                     betas,
	"optimizer.params.adam_w_mode":               adamMode,
	"scheduler.type":                             words("training.schedule", map[string]any{"WarmupLR": "constant", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}),
	"scheduler.params.warmup_num_steps":          to("training.schedule.warmup_steps"),
	"scheduler.params.total_num_steps":           to("training.steps"),
	"scheduler.params.warmup_max_lr":             to("training.optimizer.learning_rate"),
	"scheduler.params.warmup_min_lr":             refuse("warm-up starts at zero in the language"),
	"scheduler.params.warmup_type":               refuse("warm-up is linear in the language"),
	"scheduler.params.last_batch_iteration":      ignore("a run that starts has no last batch"),
	"communication_data_type":                    words("execution.gradient_dtype", map[string]any{"fp32": "fp32", "bf16": "bf16", "bfp16": "bf16"}),
	"data_types.grad_accum_dtype":                words("execution.gradient_dtype", map[string]any{"fp32": "fp32", "bf16": "bf16"}),
	"zero_optimization.cpu_offload":              offload("execution.offload.optimizer"),
	"zero_optimization.cpu_offload_param":        offload("execution.offload.parameters"),
	"zero_optimization.offload_optimizer.device": device("execution.offload.optimizer"),
	"zero_optimization.offload_param.device":     device("execution.offload.parameters"),
	"tensorboard.enabled":                        ignore("training.logging.tensorboard_path says it"),
	"tensorboard.output_path":                    to("training.logging.tensorboard_path"),
	"wandb.project":                              to("training.logging.wandb.project"),
	"wandb.team":                                 to("training.logging.wandb.entity"),
	"wandb.enabled":                              ignore("training.logging.wandb says it"),
	"_comment":                                   ignore("a comment"),
}

func precision(name string) func(*reading, key) outcome {
	return func(r *reading, k key) outcome {
		on, ok := k.Truth()
		if !ok {
			return unknown("neither true nor false")
		}
		if !on {
			return left("off")
		}
		r.d.Set("training.precision", name, r.at(k))
		return outcome{to: "training.precision"}
	}
}

func betas(r *reading, k key) outcome {
	list, _ := k.Value.([]tree.Node)
	if len(list) != 2 {
		return unknown("two numbers are expected")
	}
	for i, name := range []string{"beta1", "beta2"} {
		v, ok := convert("training.optimizer."+name, list[i])
		if !ok {
			return unknown("not a value of training.optimizer." + name)
		}
		r.d.Set("training.optimizer."+name, v, r.at(k))
	}
	return outcome{to: "training.optimizer.beta1, beta2"}
}

func adamMode(r *reading, k key) outcome {
	if on, ok := k.Truth(); ok && !on {
		r.d.Set("training.optimizer", "adam", r.at(k))
	}
	return outcome{to: "training.optimizer"}
}

func offload(path string) func(*reading, key) outcome {
	return func(r *reading, k key) outcome {
		if on, ok := k.Truth(); ok && !on {
			return left("off")
		}
		r.d.Set(path, true, r.at(k))
		return outcome{to: path}
	}
}

func device(path string) func(*reading, key) outcome {
	return func(r *reading, k key) outcome {
		switch k.Text() {
		case "none", "":
			return left("off")
		case "cpu":
			r.d.Set(path, true, r.at(k))
			return outcome{to: path}
		}
		return unknown("ndc offloads to host memory alone")
	}
}

// Launcher reads what starts DeepSpeed: nodes and GPUs of its launcher, and
// names what the training script alone understands.
func Launcher(d *draft.Draft, file string, words []string, lines []int) bool {
	at := func(i int) draft.Place { return draft.Place{File: file, Line: lines[i]} }
	start, script := -1, false
	for i, w := range words {
		if start < 0 {
			if w == "deepspeed" || strings.HasSuffix(w, "/deepspeed") {
				start = i
			}
			continue
		}
		name, value, joined := strings.Cut(w, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case strings.HasSuffix(w, ".py"):
			script = true
		case !strings.HasPrefix(w, "-"):
		case name == "--num_nodes" && err == nil && n > 0:
			d.Set("cluster.nodes", n, at(i))
		case name == "--num_gpus" && err == nil && n > 0:
			d.Set("cluster.gpus_per_node", n, at(i))
		case script && (name == "--deepspeed" || name == "--deepspeed_config"):
			d.Find(draft.Finding{Place: at(i), Name: name, Value: value, Verdict: draft.Left, Why: "the configuration, which is read where it is given"})
		case script:
			d.Find(draft.Finding{Place: at(i), Name: name, Value: value, Verdict: draft.Unknown, Why: "an option of the training script, which ndc does not know"})
		}
	}
	return start >= 0 && script
}
