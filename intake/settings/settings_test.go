package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// said lists what a draft has, one path a line.
func said(d *draft.Draft) string {
	var b strings.Builder
	for _, p := range d.Paths() {
		v, _ := d.Get(p)
		fmt.Fprintf(&b, "%s = %v\n", p, v.Value)
	}
	return b.String()
}

func expect(t *testing.T, d *draft.Draft, want ...string) {
	t.Helper()
	got := said(d)
	for _, w := range want {
		if !strings.Contains(got, w+"\n") {
			t.Errorf("%q is missing in\n%s", w, got)
		}
	}
}

// TestTorchTitan: a configuration of TorchTitan fills in what the language says; keys of an
// earlier release, and those that no release has, are named.
func TestTorchTitan(t *testing.T) {
	src := `
[model]
flavor = "8B"
[optimizer]
lr = 1e-3
[training]
batch_size = 4 # of an earlier release
seq_len = 2048
steps = 100
[lr_scheduler]
decay_ratio = 0.2
decay_type = "sqrt"
warmup_steps = 10
[parallelism]
data_parallel_shard_degree = 8
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "1F1B"
module_fqns_per_model_part = [["tok_embeddings", "layers.0"], ["layers.1", "layers.2", "norm", "output"]]
fsdp_reshard_after_forward = "never"
[activation_checkpoint]
mode = "full"
[metrics]
frobnicate = 1
`
	o, err := TOML([]byte(src))
	if err != nil || !IsTorchTitan(o) {
		t.Fatal(err)
	}
	d := draft.New()
	ReadTorchTitan(d, "train.toml", "", o)
	expect(t, d, "training.steps = 100", "model.sequence_length = 2048", "training.global_batch_size = 32", "training.schedule = wsd", "training.schedule.decay_steps = 20",
		"training.schedule.decay_shape = minus_sqrt", "constraints.layout.data_parallel_shard = 8", "constraints.layout.pipeline_schedule = 1f1b",
		"constraints.layout.stage_layers = [1 2]", "constraints.layout.zero_stage = 2", "constraints.layout.micro_batch_size = 1", "constraints.layout.recompute = full")
	for _, f := range d.Findings {
		if f.Name == "metrics.frobnicate" && (f.Line != 23 || f.Verdict != draft.Unknown) {
			t.Errorf("%+v", f)
		}
		if f.Name == "training.local_batch_size" && f.Line == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestDumpFolder: folders of TorchTitan are joined to its dump folder, and what is logged and
// traced is what the file says, on or off.
func TestDumpFolder(t *testing.T) {
	const file = "[training]\nsteps = 200\n[checkpoint]\nenable = true\nfolder = \"checkpoint\"\n[metrics]\nenable_tensorboard = true\nsave_tb_folder = \"tb\"\n" +
		"[profiling]\nenable_profiling = true\nprofile_freq = 100\n"
	for _, c := range []struct{ job, options, want string }{
		{"[job]\ndump_folder = \"/scratch/run1\"\n", "", "/scratch/run1/checkpoint /scratch/run1/tb 99 100"},
		{"", "", "outputs/checkpoint outputs/tb 99 100"},
		{"[job]\ndump_folder = \"/a\"\n", "--job.dump_folder /b --checkpoint.folder=/ck/torchtitan", "/ck /b/tb 99 100"},
		{"", "--job.dump_folder $D --profiling.no-enable_profiling", "<nil> <nil> <nil> <nil>"},
		{"", "--metrics.no-enable_tensorboard --profiling.profiler_active 5", "outputs/checkpoint <nil> 95 100"},
	} {
		o, err := TOML([]byte(file + c.job))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "train.toml", "", o, TitanOptions(words(c.options))...)
		var got []string
		for _, path := range []string{"checkpoint.path", "logging.tensorboard_path", "logging.profile.start_step", "logging.profile.end_step"} {
			v, _ := d.Get("training." + path)
			got = append(got, fmt.Sprint(v.Value))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s%s: %s, want %s", c.job, c.options, s, c.want)
		}
		for _, f := range d.Findings {
			if strings.HasPrefix(f.To, "training.logging.") && !d.HasBlock(f.To) {
				t.Errorf("%s%s: %+v, and the job does not say it", c.job, c.options, f)
			}
		}
	}
}

// TestDeepSpeed: a configuration of DeepSpeed and the words of its launcher fill in what the
// language says; a key that ndc does not know is named with its line.
func TestDeepSpeed(t *testing.T) {
	n, err := tree.JSON([]byte(`{
  "train_micro_batch_size_per_gpu": 2,
  "train_batch_size": "auto",
  "bf16": {"enabled": true},
  "fp16": {"enabled": false},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}},
  "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 10, "total_num_steps": 100, "warmup_type": "linear", "warmup_min_lr": 0}},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 5e8},
  "autotuning": {"enabled": true}
}`))
	if err != nil || !IsDeepSpeed(n.Object()) {
		t.Fatal(err)
	}
	d := draft.New()
	ReadDeepSpeed(d, "ds.json", "", n.Object())
	expect(t, d, "constraints.layout.micro_batch_size = 2", "training.precision = bf16", "training.optimizer = adamw", "training.optimizer.beta2 = 0.95",
		"training.schedule = linear", "training.steps = 100", "constraints.layout.zero_stage = 2", "execution.offload.optimizer = true")
	if d.Has("training.global_batch_size") {
		t.Error("auto is no batch")
	}
	last := d.Findings[len(d.Findings)-1]
	if last.Name != "autotuning.enabled" || last.Line != 9 || last.Verdict != draft.Unknown || last.Why != "ndc knows no such key of 0.19.8" { // which has it
		t.Errorf("%+v", last)
	}
	if !Launcher(d, "run.sh", words("deepspeed --num_nodes 2 --num_gpus=4 train.py --deepspeed ds.json --lr 1"), false, false) || d.Int("cluster.nodes") != 2 || d.Int("cluster.gpus_per_node") != 4 {
		t.Errorf("the launcher is not read:\n%s", said(d))
	}
	Launcher(d, "run.sh", words("deepspeed train.py --bias --lr -1"), false, false)
	if n := len(d.Findings); d.Findings[n-2].Value != "" || d.Findings[n-1].Value != "-1" {
		t.Errorf("values of options: %+v", d.Findings[n-2:])
	}
}

// TestIncluded: the GPUs that DeepSpeed's launcher is told to use are those of the job.
func TestIncluded(t *testing.T) {
	for options, want := range map[string]string{
		"--include localhost:0,1,2,3":     "1 4 []",
		"--include=a:0,1@b:4,5 --num_x 1": "2 2 []",
		"-i a:0,1@b:0":                    "0 0 [-i]",
		"--include a@b":                   "0 0 [--include]",
		"--include $HOSTS":                "0 0 [--include]",
		"--include localhost:":            "0 0 [--include]",
		"--exclude a:7":                   "0 0 [--exclude]",
		"--hostfile h":                    "0 0 [--hostfile]",
		"-H h --num_nodes 2 --num_gpus 4": "2 4 []",
	} {
		d := draft.New()
		Launcher(d, "run.sh", words("deepspeed "+options+" train.py"), false, false)
		unknown := []string{}
		for _, f := range d.Findings {
			unknown = append(unknown, f.Name)
		}
		if got := fmt.Sprint(d.Int("cluster.nodes"), d.Int("cluster.gpus_per_node"), unknown); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// TestNoDecoders: a model that makes or sees images stands in the job as what it is.
func TestNoDecoders(t *testing.T) {
	o, err := TOML([]byte("[model]\nname = \"flux\"\nflavor = \"flux-dev\"\n[training]\nsteps = 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	ReadTorchTitan(d, "a.toml", "", o)
	expect(t, d, "model.architecture = flux")
	if f := d.Findings[0]; f.Verdict != draft.Unknown || !strings.Contains(f.Why, "no decoder of language") {
		t.Errorf("%+v", f)
	}
}

// TestLabels: an optimizer and a schedule that the language does not have stand in the job
// under their own words, so that it is refused there; another one is none that was asked for.
func TestLabels(t *testing.T) {
	n, err := tree.JSON([]byte(`{"train_batch_size": 8, "optimizer": {"type": "Lamb"}, "scheduler": {"type": "OneCycle"}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	ReadDeepSpeed(d, "ds.json", "", n.Object())
	expect(t, d, "training.optimizer = Lamb", "training.schedule = OneCycle")
	for line, want := range map[string]string{"--optimizer.name Shampoo": "training.optimizer = Shampoo", "--optimizer.name $O": "training.optimizer = unread"} {
		d := draft.New()
		ReadTorchTitan(d, "a.toml", "", nil, TitanOptions(words(line))...)
		expect(t, d, want)
	}
}

// TestNotUnderstoodPinsNothing: a stage or a device that is not understood is not pinned to
// what DeepSpeed does where nothing says it.
func TestNotUnderstoodPinsNothing(t *testing.T) {
	for zero, want := range map[string]string{
		`"stage": 3, "offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "none"}`: "3 <nil> false",
		`"stage": 3, "offload_param": {"device": "nvme"}`:                                          "3 false <nil>",
		`"stage": "three", "offload_optimizer": {"device": "cpu"}`:                                 "<nil> true false",
		`"overlap_comm": true`: "0 false false",
	} {
		n, err := tree.JSON([]byte(`{"train_batch_size": 8, "zero_optimization": {` + zero + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "ds.json", "", n.Object())
		if s := drafted(d, "constraints.layout.zero_stage", "execution.offload.optimizer", "execution.offload.parameters"); s != want {
			t.Errorf("%s: %s, want %s", zero, s, want)
		}
	}
}

// TestOptimizerCase: the case of a name counts for the optimizers that torch has alone.
func TestOptimizerCase(t *testing.T) {
	for name, want := range map[string]string{"AdamW": "adamw", "Adam": "adamw", "adam": "adamw", "ADAMW": "adamw", "muon": "muon", "SGD": "sgd", "sgd": "sgd, not understood", "lamb": "lamb, not understood"} {
		n, err := tree.JSON([]byte(`{"train_batch_size": 8, "optimizer": {"type": "` + name + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "ds.json", "", n.Object())
		got := d.Text("training.optimizer")
		for _, f := range d.Findings {
			if f.Name == "optimizer.type" && f.Verdict == draft.Unknown {
				got += ", not understood"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestDeepSpeedText: numbers and truth values in quotes are read where DeepSpeed reads them, and
// named elsewhere.
func TestDeepSpeedText(t *testing.T) {
	n, err := tree.JSON([]byte(`{"train_batch_size": "256", "bf16": {"enabled": "true"}, "zero_optimization": {"stage": "3", "overlap_comm": "True",
		"reduce_bucket_size": "500000000", "sub_group_size": "1e9", "offload_optimizer": {"device": "cpu", "ratio": "0.5"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	ReadDeepSpeed(d, "ds.json", "", n.Object())
	if d.Int("constraints.layout.zero_stage") != 3 || !d.Bool("execution.overlap_gradient_reduce") {
		t.Errorf("%v", d.Findings)
	}
	unread := map[string]string{}
	for _, f := range d.Findings {
		if f.Verdict == draft.Unknown {
			unread[f.Name] = f.Why
		}
	}
	if len(unread) != 2 || unread["train_batch_size"] != quoted || unread["zero_optimization.sub_group_size"] != quoted {
		t.Errorf("%v", unread)
	}
}

// TestDeepSpeedDefaults: what a configuration leaves out is as the release has it, which is
// another run than the language's defaults.
func TestDeepSpeedDefaults(t *testing.T) {
	for _, c := range []struct{ version, config, want string }{
		{"", `"optimizer": {"type": "AdamW", "params": {"lr": 2e-4}}, "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 90}}`, "0 0.9 0.999 1e-08 1 1000 2e-08 [scheduler.params.warmup_type]"},
		{"0.19.2", `"optimizer": {"type": "AdamW", "params": {"lr": 2e-4, "weight_decay": 0.1, "betas": [0.8, 0.9]}}`, "0.1 0.8 0.9 1e-08 0 <nil> <nil> []"},
		{"", `"scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 5, "warmup_type": "linear", "cos_min_ratio": 0.1, "warmup_min_ratio": 0}}, "optimizer": {"type": "AdamW", "params": {"lr": 2e-4, "weight_decay": "auto", "betas": "auto", "eps": "auto"}}, "gradient_clipping": "auto"`, "<nil> <nil> <nil> <nil> <nil> 5 2e-05 []"},
		{"", `"scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 0, "cos_min_ratio": 0.1}}`, "<nil> <nil> <nil> <nil> 1 0 <nil> [scheduler.params.cos_min_ratio]"},
		{"", `"scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 0, "cos_min_ratio": 0.0}}`, "<nil> <nil> <nil> <nil> 1 0 <nil> []"},
	} {
		n, err := tree.JSON([]byte(`{"train_batch_size": 8, ` + c.config + `}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "ds.json", c.version, n.Object())
		got, unknown := "", []string{}
		for _, path := range []string{"optimizer.weight_decay", "optimizer.beta1", "optimizer.beta2", "optimizer.epsilon", "optimizer.gradient_clipping", "schedule.warmup_steps", "schedule.minimum_learning_rate"} {
			v, _ := d.Get("training." + path)
			got += fmt.Sprint(v.Value, " ")
		}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				unknown = append(unknown, f.Name)
			}
		}
		if got += fmt.Sprint(unknown); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.config, got, c.want)
		}
	}
}

// TestSwitches: keys that ndc itself emits of timers and of a prefetch that is
// off say what they were emitted of.
func TestSwitches(t *testing.T) {
	for stage, want := range map[string]string{"3": "false", "1": "<nil>"} {
		n, err := tree.JSON([]byte(`{"train_batch_size": 8, "wall_clock_breakdown": true, "zero_optimization": {"stage": ` + stage + `, "stage3_prefetch_bucket_size": 0}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "ds.json", "", n.Object())
		expect(t, d, "training.logging.timers = true")
		if v, _ := d.Get("execution.overlap_parameter_gather"); fmt.Sprint(v.Value) != want {
			t.Errorf("stage %s: %v, want %s", stage, v.Value, want)
		}
	}
}

// TestStart: what TOML of TorchTitan starts from, and a norm without bound.
func TestStart(t *testing.T) {
	for text, want := range map[string]string{
		"initial_load_path = \"/c\"":                                  "checkpoint /c true ",
		"initial_load_path = \"/c\"\ninitial_load_model_only = false": "checkpoint /c false ",
		"initial_load_path = \"/h\"\ninitial_load_in_hf = true":       "huggingface /h false ",
		"initial_load_in_hf = true":                                   "  false checkpoint.initial_load_in_hf",
		"initial_load_path = \"\"":                                    "  false ",
	} {
		root, err := TOML([]byte("[metrics]\nlog_freq = 5\n[activation_checkpoint]\nmode = \"full\"\n[training]\nmax_norm = inf\n[checkpoint]\nenable = true\n" + text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "train.toml", "", root)
		expect(t, d, "training.optimizer.gradient_clipping = 0")
		var wrong []string
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				wrong = append(wrong, f.Name)
			}
		}
		got := fmt.Sprint(d.Text("training.start.from"), " ", d.Text("training.start.path"), " ", d.Bool("training.start.reset_optimizer"), " ", strings.Join(wrong, " "))
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	root, err := TOML([]byte("[metrics]\nlog_freq = 5\n[training]\nmax_norm = nan\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	if ReadTorchTitan(d, "train.toml", "", root); d.Has("training.optimizer.gradient_clipping") {
		t.Error("NaN is a norm")
	}
}

// TestRules: every line of the data files says one thing, of arguments and
// labels that the language has, and of keys that some release has or had.
func TestRules(t *testing.T) {
	for _, name := range []string{"accelerate.jsonl", "torchtitan.jsonl", "trainer.jsonl", "deepspeed.jsonl", "run.jsonl"} {
		for key, u := range rulesOf(name) {
			said := 0
			for _, s := range []string{u.Left, u.Refused, u.Now, u.Call + u.Argument} {
				if s != "" && !(s == u.Argument && u.Values != nil && u.Refused != "") { // of other values it says why not
					said++
				}
			}
			if said != 1 {
				t.Errorf("%s: %s says %d things", name, key, said)
			}
			if _, blocks := language.At(u.Argument); u.Argument != "" && blocks == nil {
				t.Errorf("%s: %s: there is no %s", name, key, u.Argument)
			}
			for word, v := range u.Values {
				if f, ok := v.(float64); ok {
					v = json.Number(fmt.Sprint(f))
				}
				if _, ok := convert(u.Argument, tree.Node{Value: v}); v != nil && !ok {
					t.Errorf("%s: %s: %s is no value of %s", name, word, v, u.Argument)
				}
			}
			if u.Now != "" && rulesOf(name)[u.Now] != nil && rulesOf(name)[u.Now].Now != "" {
				t.Errorf("%s: %s was renamed twice", name, key)
			}
		}
	}
}

// TestRun: what ndc's own training program reads is read, whatever it holds.
func TestRun(t *testing.T) {
	n, err := tree.JSON([]byte(`{
  "job": "x", "requires": {"deepspeed": {"minimum": "0.19.8"}},
  "layout": {"gpus": 8, "zero_stage": 2}, "model": {"attention": "eager", "recompute_layers": 3, "router": {"balance": "sequence_aux_loss", "z_coefficient": 0.1}},
  "training": {"steps": 100}, "schedule": {"kind": "wsd", "warmup_steps": 0, "decay_start": 80, "decay_end": 100, "decay_shape": "linear"},
  "data": {"mock": false, "sources": [{"name": "a", "path": "/a", "weight": 1}], "tokenizer": {"kind": "none", "path": ""}, "end_of_document_id": null},
  "validation": {"path": "/v", "interval": 5, "steps": 1}, "checkpoint": {"path": "", "interval_steps": 0, "interval_seconds": 60},
  "logging": {"tensorboard_path": "/t", "wandb": {"project": "p"}, "frobnicate": 1}
}`))
	if err != nil || !IsRun(n.Object()) {
		t.Fatal(err)
	}
	d := draft.New()
	ReadRun(d, "run.json", n.Object())
	expect(t, d, "job = x", "constraints.layout.zero_stage = 2", "execution.attention = unfused", "constraints.layout.recompute = full", "model.moe.router.balance = sequence_aux_loss",
		"model.moe.router.z_loss_coefficient = 0.1", "training.schedule = wsd", "training.schedule.decay_steps = 20", `training.data.source["a"].path = /a`,
		"training.data.validation.interval = 5", "training.logging.wandb.project = p")
	if d.HasBlock("training.checkpoint") || d.HasBlock("training.data.tokenizer") {
		t.Errorf("what is not there is read:\n%s", said(d))
	}
	var wrong []string
	for _, f := range d.Findings {
		if f.Verdict == draft.Unknown {
			wrong = append(wrong, f.Name+" "+f.Why)
		}
	}
	if strings.Join(wrong, "; ") != "logging.tensorboard_path the backend's name is appended to it, and is not there; logging.frobnicate ndc has no such key" {
		t.Errorf("not understood: %v", wrong)
	}

	for _, kind := range []string{"huggingface", "sentencepiece", "tiktoken"} {
		n, err := tree.JSON([]byte(`{"requires": {"deepspeed": {}}, "data": {"tokenizer": {"kind": "` + kind + `", "path": "/t"}},
  "logging": {"profile": {"start_step": 1, "end_step": 2, "ranks": [0, 3], "tool": "nsys"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadRun(d, "run.json", n.Object())
		expect(t, d, "training.data.tokenizer = "+kind, "training.data.tokenizer.path = /t", "training.logging.profile.ranks = [0 3]", "training.logging.profile.tool = nsys")
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				t.Errorf("not understood: %+v", f)
			}
		}
	}
}

// TestTorchTitanWithoutEffect: what a configuration says of fewer bits without a
// converter is no part of the job, and a warm-up is no longer than the run.
func TestTorchTitanWithoutEffect(t *testing.T) {
	const src = "[model]\nflavor = \"8B\"\nconverters = [%s]\n[training]\nsteps = 10\nmixed_precision_param = \"bfloat16\"\n[lr_scheduler]\nwarmup_steps = %s\n[float8]\nenable_fsdp_float8_all_gather = true\nprecompute_float8_dynamic_scale_for_fsdp = false\n[validation]\nenable = false\ndataset = \"c4_validation\"\nfreq = 500\nsteps = -1\n"
	for _, c := range []struct{ converters, warmup, precision, gather, want string }{
		{"", "200", "bf16", "<nil>", "10"},
		{`"float8"`, "5", "fp8", "true", "5"},
	} {
		o, err := TOML([]byte(fmt.Sprintf(src, c.converters, c.warmup)))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "run.toml", "", o)
		get := func(path string) string { v, _ := d.Get(path); return fmt.Sprint(v.Value) }
		if d.HasBlock("training.data.validation") {
			t.Errorf("%+v: it is validated\n%s", c, said(d))
		}
		if get("training.precision") != c.precision || get("training.fp8.parameter_gather") != c.gather || get("training.schedule.warmup_steps") != c.want {
			t.Errorf("%+v:\n%s", c, said(d))
		}
	}
}

// TestExpertsInMXFP8: mxfp8 of a job is of linear layers and experts, so that a run in which
// it is of one of both is named, as is another type of reduced gradients than TorchTitan's.
func TestExpertsInMXFP8(t *testing.T) {
	for config, want := range map[string]string{
		"converters = [\"quantize.linear.mx\"]":                                                                             "experts stay in bf16",
		"converters = [\"quantize.linear.mx\", \"quantize.grouped_mm.mx\"]":                                                 "experts stay in bf16",
		"converters = [\"quantize.grouped_mm.mx\"]\n[quantize.grouped_mm.mx]\nfqns = [\"experts\"]":                         "experts alone",
		"converters = [\"quantize.linear.mx\", \"quantize.grouped_mm.mx\"]\n[quantize.grouped_mm.mx]\nfqns = [\"experts\"]": "",
		"[training]\nmixed_precision_reduce = \"bfloat16\"":                                                                 "float32 alone",
		"[training]\nmixed_precision_reduce = \"float32\"":                                                                  "",
	} {
		o, err := TOML([]byte("[activation_checkpoint]\nmode = \"none\"\n[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n" + config + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "run.toml", "", o)
		var named string
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				named += f.Name + ": " + f.Why + "\n"
			}
		}
		if want == "" && named != "" || !strings.Contains(named, want) {
			t.Errorf("%s: %q, want %q", config, named, want)
		}
	}
}

// TestExpertsInFP8: what names the experts of a converter is left out without it;
// with it experts would be in fp8, which no job says.
func TestExpertsInFP8(t *testing.T) {
	const fp8, mx = "quantize.grouped_mm.float8", "quantize.grouped_mm.mx"
	for _, c := range []struct{ converters, of, precision, verdict, why string }{
		{``, fp8, "bf16", "left", "it acts with " + fp8 + " among model.converters alone, which is not there"},
		{`"quantize.linear.float8"`, fp8, "fp8", "left", "it acts with " + fp8 + " among model.converters alone, which is not there"},
		{`"quantize.linear.float8", "` + fp8 + `"`, fp8, "fp8", "unknown", "experts stay in bf16 here"},
		{`"` + fp8 + `"`, fp8, "bf16", "unknown", "experts stay in bf16 here"},
		{`"quantize.linear.mx", "` + mx + `"`, mx, "mxfp8", "mapped", ""},
	} {
		o, err := TOML([]byte("[model]\nconverters = [" + c.converters + "]\n[training]\nsteps = 10\n[" + c.of + "]\nfqns = [\"experts\"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "run.toml", "", o)
		i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == c.of+".fqns" })
		want := map[string]draft.Verdict{"left": draft.Left, "unknown": draft.Unknown, "mapped": draft.Mapped}[c.verdict]
		if i < 0 || d.Findings[i].Verdict != want || d.Findings[i].Why != c.why || d.Text("training.precision") != c.precision {
			t.Errorf("%+v:\n%s", c, said(d))
		}
	}
}

// TestFormerTorchTitan: keys of TorchTitan's first configurations, such as the one that
// switched fp8 on and the one that counts checkpoints by the clock.
func TestFormerTorchTitan(t *testing.T) {
	for config, want := range map[string]string{
		"[float8]\nenable_float8_linear = true\nenable_fsdp_float8_all_gather = true\n[checkpoint]\nenable_checkpoint = true\ninterval_type = \"steps\"\nmodel_weights_only = false\n": "fp8 true 500 []",
		"[float8]\nenable_float8_linear = false\nenable_fsdp_float8_all_gather = true\n":                                                                                               "bf16 <nil> <nil> []",
		"[checkpoint]\nenable_checkpoint = true\ninterval_type = \"seconds\"\ninterval = 900\n":                                                                                        "bf16 <nil> 900s []",
	} {
		o, err := TOML([]byte("[training]\nsteps = 10\n[activation_checkpoint]\nmode = \"full\"\n[metrics]\nlog_freq = 10\n" + config))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "run.toml", "", o)
		named := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				named = append(named, f.Name)
			}
		}
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		if got := fmt.Sprint(get("training.precision"), " ", get("training.fp8.parameter_gather"), " ", get("training.checkpoint.interval"), " ", named); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}

// TestUnsaidOfDeepSpeed: a configuration that says nothing of ZeRO shards and offloads
// nothing.
func TestUnsaidOfDeepSpeed(t *testing.T) {
	for text, want := range map[string]string{
		`{"bf16": {"enabled": true}}`:                                                  "zero=0 optimizer=false parameters=false",
		`{"zero_optimization": {"stage": 2}}`:                                          "zero=2 optimizer=false parameters=false",
		`{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}`:      "zero=3 optimizer=false parameters=true",
		`{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}`:      "zero=2 optimizer=false parameters=false",
		`{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "auto"}}}`: "zero=2 optimizer=<nil> parameters=false",
		`{"zero_optimization": {"stage": "auto"}}`:                                     "zero=<nil> optimizer=false parameters=false",
	} {
		n, err := tree.JSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "ds.json", "", n.Object())
		get := func(path string) any { v, _ := d.Get(path); return v.Value }
		if got := fmt.Sprintf("zero=%v optimizer=%v parameters=%v", get("constraints.layout.zero_stage"), get("execution.offload.optimizer"), get("execution.offload.parameters")); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func words(line string) []Word {
	var all []Word
	for _, w := range strings.Fields(line) {
		all = append(all, Word{Text: w, At: draft.Place{File: "run.sh", Line: 1}, Open: strings.HasPrefix(w, "$")})
	}
	return all
}

// TestLoose: words that may be options are those behind the program that are not known and
// no option's value.
func TestLoose(t *testing.T) {
	for line, want := range map[string]string{
		"deepspeed --num_gpus $N $HOSTS a.py $A --x 1 $B --y $C --z=2 $D --bf16 $@": "$A $B $D $@",
		"torchrun --nnodes 2 $E -m x.train $A --training.steps $B $C":               "$A $C",
		"python a.py --lr 1e-4 --bf16":                                              "",
	} {
		var got []string
		for _, w := range Loose(words(line)) {
			got = append(got, w.Text)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", line, s, want)
		}
	}
}

// TestTrainer: what the Trainer of transformers is started with fills in what the
// configuration of DeepSpeed leaves to it, its defaults included.
func TestTrainer(t *testing.T) {
	const auto = `{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}`
	for line, want := range map[string]string{
		"torchrun --nnodes 2 --nproc_per_node=4 sft.py --deepspeed z.json --output_dir /o --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --bf16 True --learning_rate 2e-5 --weight_decay 0. --max_steps 30 --lr_scheduler_type cosine --gradient_checkpointing True --optim adamw_torch_fused --mine 3": "global=64 nodes=2 gpus=4 micro=2 batches=4 precision=bf16 rate=2e-05 steps=30 schedule=cosine recompute=full optimizer=adamw clip=1 seed=42 unknown=[output_dir mine]",
		"deepspeed --num_gpus 8 sft.py --deepspeed z.json --output_dir /o --fp16 --optim sgd --seed 7 --per_device_train_batch_size $B":                                                                                                                                                                                  "global=0 nodes=0 gpus=8 micro=0 batches=1 precision=fp16 rate=5e-05 steps=0 schedule=linear recompute=none optimizer=sgd clip=1 seed=7 unknown=[output_dir optim per_device_train_batch_size]",
		"torchrun --nproc_per_node 8 other.py --deepspeed z.json --learning_rate 1":                             "global=0 nodes=0 gpus=8 micro=0 batches=0 precision= rate=0 steps=0 schedule= recompute= optimizer= clip=1 seed=0 unknown=[--learning_rate]",
		"deepspeed --num_gpus 8 own.py --deepspeed --deepspeed_config=z.json --output_dir /o --lr 1":            "global=0 nodes=0 gpus=8 micro=0 batches=0 precision= rate=0 steps=0 schedule= recompute= optimizer= clip=1 seed=0 unknown=[--output_dir --lr]",
		"python -m torch.distributed.run --nnodes 2 --nproc_per_node=4 own.py --deepspeed_config z.json --lr 1": "global=0 nodes=2 gpus=4 micro=0 batches=0 precision= rate=0 steps=0 schedule= recompute= optimizer= clip=1 seed=0 unknown=[--lr]",
		"torchrun --nnodes 2 own.py --deepspeed_config z.json --output_dir /o --lr 1":                           "global=0 nodes=2 gpus=0 micro=0 batches=0 precision= rate=0 steps=0 schedule= recompute= optimizer= clip=1 seed=0 unknown=[--output_dir --lr]",
	} {
		n, err := tree.JSON([]byte(auto))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "z.json", "", n.Object())
		Launcher(d, "run.sh", words(line), false, false)
		unknown := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Unknown {
				unknown = append(unknown, f.Name)
			}
		}
		got := fmt.Sprintf("global=%d nodes=%d gpus=%d micro=%d batches=%d precision=%s rate=%v steps=%d schedule=%s recompute=%s optimizer=%s clip=%v seed=%d unknown=%v", d.Int("training.global_batch_size"), d.Int("cluster.nodes"), d.Int("cluster.gpus_per_node"),
			d.Int("constraints.layout.micro_batch_size"), d.Int("constraints.layout.micro_batches"), d.Text("training.precision"), d.Float("training.optimizer.learning_rate"),
			d.Int("training.steps"), d.Text("training.schedule"), d.Text("constraints.layout.recompute"), d.Text("training.optimizer"), d.Float("training.optimizer.gradient_clipping"), d.Int("training.seed"), unknown)
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", line, got, want)
		}
	}
}

// TestTrainerSchedule: a schedule and an optimizer of the configuration count before those
// of the Trainer, and a warm-up that is a part of the run is one of its steps.
func TestTrainerSchedule(t *testing.T) {
	const own = `{"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": "auto", "warmup_num_steps": "auto"}}, "zero_optimization": {"stage": 3}}`
	const none = `{"zero_optimization": {"stage": 3}}`
	for _, c := range []struct{ config, options, want string }{
		{own, "--lr_scheduler_type cosine --optim sgd --max_steps 1001 --warmup_ratio 0.01", "constant adamw 11 lr_scheduler_type=left out optim=left out warmup_ratio=mapped"},
		{none, "--lr_scheduler_type cosine --optim adamw_torch --warmup_ratio 0.01 --max_steps 1000", "cosine adamw 10 lr_scheduler_type=mapped optim=mapped warmup_ratio=mapped"},
		{none, "--max_steps 1000 --warmup_ratio 0.01 --warmup_steps 5", "linear adamw 5 warmup_ratio=not understood"},
		{none, "--warmup_ratio 0.01", "linear adamw 0 warmup_ratio=not understood"},
		{none, "--warmup_ratio 0.0", "linear adamw 0 warmup_ratio=mapped"},
		{none, "--max_steps 1001 --warmup_steps 0.01", "linear adamw 11 warmup_steps=mapped"},
		{none, "--warmup_steps 0.01", "linear adamw 0 warmup_steps=not understood"},
		{none, "--lr_scheduler_type constant --warmup_steps 0.1", "constant adamw 0 lr_scheduler_type=mapped warmup_steps=left out"},
		{none, "--lr_scheduler_type constant --warmup_steps 5 --warmup_ratio 0.1", "constant adamw 0 lr_scheduler_type=mapped warmup_ratio=left out"},
		{own, "--lr_scheduler_type constant --warmup_steps 5", "constant adamw 5 lr_scheduler_type=left out"},
	} {
		n, err := tree.JSON([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "z.json", "", n.Object())
		Launcher(d, "run.sh", words("torchrun --nproc_per_node 8 sft.py --deepspeed z.json --output_dir /o "+c.options), false, false)
		got := fmt.Sprintf("%s %s %d", d.Text("training.schedule"), d.Text("training.optimizer"), d.Int("training.schedule.warmup_steps"))
		for _, name := range []string{"lr_scheduler_type", "optim", "warmup_ratio", "warmup_steps"} {
			for _, f := range d.Findings {
				if f.Name == name && (name != "warmup_steps" || strings.Contains(f.Value, ".")) {
					got += fmt.Sprintf(" %s=%s", name, f.Verdict)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.options, got, c.want)
		}
	}
}

// TestTrainerOwn: an option of the Trainer is not taken for one of the training script.
func TestTrainerOwn(t *testing.T) {
	for _, option := range []string{"--eval_strategy steps", "--evaluation_strategy no", "--eval_steps 100", "--disable_tqdm True", "--load_best_model_at_end True", "--metric_for_best_model loss", "--dataloader_drop_last True", "--ddp_find_unused_parameters False", "--logging_first_step True"} {
		d := draft.New()
		Launcher(d, "run.sh", words("torchrun --nproc_per_node 8 sft.py --deepspeed z.json --output_dir /o --per_device_train_batch_size 1 "+option), false, false)
		name := strings.TrimLeft(strings.Fields(option)[0], "-")
		if !slices.ContainsFunc(d.Findings, func(f draft.Finding) bool {
			return f.Name == name && !strings.Contains(f.Why, "training script")
		}) {
			t.Errorf("%s: %v", option, d.Findings)
		}
	}
}

// TestTrainerInstead: what LLaMA-Factory has in the place of the Trainer's optimizer is no
// AdamW, wherever it stands, but beside an optimizer of the configuration, which counts.
func TestTrainerInstead(t *testing.T) {
	for _, c := range []struct{ config, options, want string }{
		{"{}", "--use_badam True --optim adamw_torch", "badam use_badam=not understood optim=left out"},
		{"{}", "--optim adamw_torch --use_adam_mini", "adam_mini optim=left out use_adam_mini=not understood"},
		{"{}", "--use_muon 1", "muon use_muon=mapped"},
		{"{}", "--use_muon False --optim adamw_torch", "adamw use_muon=left out optim=mapped"},
		{`{"optimizer": {"type": "SGD"}}`, "--use_galore True", "sgd use_galore=not understood"},
	} {
		n, err := tree.JSON([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "z.json", "", n.Object())
		Launcher(d, "run.sh", words("torchrun --nproc_per_node 8 src/train.py --deepspeed z.json --output_dir /o "+c.options), false, false)
		got := d.Text("training.optimizer")
		for _, f := range d.Findings {
			if f.Name == "optim" || strings.HasPrefix(f.Name, "use_") {
				got += fmt.Sprintf(" %s=%s", f.Name, f.Verdict)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.options, got, c.want)
		}
	}
}

// TestTrainerFills: the Trainer fills in what the configuration has as auto; what it leaves
// out is DeepSpeed's to say, and what it says counts.
func TestTrainerFills(t *testing.T) {
	const options = "--max_grad_norm 5 --weight_decay 0.3 --adam_beta2 0.9 --adam_epsilon 1e-5"
	for _, c := range []struct{ config, version, want string }{
		{`{"gradient_clipping": "auto"}`, "", "5 0.3 0.9 1e-05 []"},
		{`{"zero_optimization": {"stage": 1}}`, "", "1 0.3 0.9 1e-05 [max_grad_norm]"},
		{`{"zero_optimization": {"stage": 1}}`, "0.19.2", "0 0.3 0.9 1e-05 [max_grad_norm]"},
		{`{"gradient_clipping": 5, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto"}}}`, "", "5 0.3 0.999 1e-08 [adam_beta2 adam_epsilon]"},
		{`{"optimizer": {"type": "AdamW", "params": {"betas": [0.8, 0.95], "eps": 1e-6}}}`, "", "1 0 0.95 1e-06 [max_grad_norm weight_decay adam_beta2 adam_epsilon]"},
	} {
		n, err := tree.JSON([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadDeepSpeed(d, "z.json", c.version, n.Object())
		Launcher(d, "run.sh", words("torchrun --nproc_per_node 8 sft.py --deepspeed z.json --output_dir /o "+options), false, false)
		passed := []string{}
		for _, f := range d.Findings {
			if f.Verdict == draft.Left && f.File == "run.sh" && f.Name != "deepspeed" {
				passed = append(passed, f.Name)
			}
		}
		const o = "training.optimizer."
		if got := fmt.Sprint(d.Float(o+"gradient_clipping"), d.Float(o+"weight_decay"), d.Float(o+"beta2"), d.Float(o+"epsilon"), passed); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.config, got, c.want)
		}
	}
}

// TestRefused: what would be passed on and the release does not take is not passed on.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`["loss", "model"]`: "passed on [--compile.components=loss,model]",
		`["backward"]`:      "not understood <nil>",
	} {
		n, err := tree.JSON([]byte(`{"training": {"steps": 1}, "compile": {"enable": true, "components": ` + text + `}, "model": {"name": "llama3"}}`))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "a.toml", "0.2.2", n.Object())
		v, _ := d.Get(draft.Labelled("backend", TorchTitanKind) + ".extra_args")
		for _, f := range d.Findings {
			if got := fmt.Sprintf("%s %v", f.Verdict, v.Value); f.Name == "compile.components" && got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

// TestTrainsOther: the Trainer's options on a command line are refused as those of a file are
// where they train something else than all weights.
func TestTrainsOther(t *testing.T) {
	const trainer = "deepspeed src/train_bash.py --deepspeed ds.json --output_dir o "
	for line, refused := range map[string]bool{
		trainer + "--stage sft --finetuning_type full": false, trainer + "--stage sft --finetuning_type lora": true,
		trainer + "--stage dpo --finetuning_type full": true, trainer + "--stage 2": false, trainer + "--use_peft": true, trainer + "--use_peft False": false,
		trainer + "--tune_mm_mlp_adapter True": true, trainer + "--freeze_llm False": false,
		trainer + "--loss_type sigmoid,bco_pair --sigmoid_loss_weight 0.8": true, trainer + "--rpo_alpha 1": true,
		trainer + "--freeze_backbone True": true, trainer + "--freeze_llm False --freeze_backbone True": false, trainer + "--freeze_llm True --freeze_backbone True": true,
		trainer + "--lora_r 8": true, trainer + "--lora_rank 8 --lora_alpha 16": true, trainer + "--lora_r 0": false,
		trainer + "--lora_r 8 --use_peft False": false, trainer + "--lora_rank 8 --finetuning_type full": false, trainer + "--train_type lora --lora_rank 8": true,
		trainer + "--stage sft": true, trainer + "--stage pt --do_train True": true, trainer + "--stage $STAGE": false, trainer + "--stage sft $MORE": false,
		trainer + "--finetuning_type $TYPE": false, "deepspeed train.py --finetuning_type lora": false,
	} {
		if err := TrainsOther(words(line)); (err != nil) != refused {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestSaysNothing: a key of the Trainer that is null, or a number of steps that is none, is
// not said to be misunderstood.
func TestSaysNothing(t *testing.T) {
	n, err := tree.YAML([]byte("output_dir: o\nresume_from_checkpoint: null\nmax_steps: -1\nnum_train_epochs: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	if err := ReadTrainer(d, "sft.yaml", n.Object()); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Findings {
		if want := f.Name == "output_dir" || f.Name == "num_train_epochs"; (f.Verdict == draft.Unknown) != want {
			t.Errorf("%s: %s, %s", f.Name, f.Verdict, f.Why)
		}
	}
	if d.Has("training.steps") {
		t.Errorf("steps: %d", d.Int("training.steps"))
	}
}

// drafted are the values of some paths of a draft, in one line.
func drafted(d *draft.Draft, paths ...string) string {
	var values []string
	for _, path := range paths {
		v, _ := d.Get(path)
		values = append(values, fmt.Sprint(v.Value))
	}
	return strings.Join(values, " ")
}

// TestCut: TorchTitan cuts a pipeline by itself where no list of modules does, and the job has
// the stages that its code makes of the keys.
func TestCut(t *testing.T) {
	const file = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nsteps = 9\n[parallelism]\npipeline_parallel_degree = 2\n"
	const order, each, first, last = "pipeline_parallel_schedule = ", "pipeline_parallel_layers_per_stage = ", "pipeline_parallel_first_stage_less_layers = ", "pipeline_parallel_last_stage_less_layers = "
	for _, c := range []struct{ keys, want string }{
		{"", "1f1b 1 [16 16]"},
		{order + "\"Interleaved1F1B\"\n", "interleaved_1f1b 2 [8 9 8 7]"},
		{order + "\"interleaved1f1b\"\n" + each + "4\n" + first + "0\n" + last + "0\n", "interleaved_1f1b 4 [4 4 4 4 4 4 4 4]"},
		{order + "\"ZBVZeroBubble\"\n", "<nil> 2 [8 9 8 7]"},
		{order + "\"Interleaved1F1B\"\n" + each + "7\n", "interleaved_1f1b <nil> <nil>"}, // 5 stages, which TorchTitan refuses
		{order + "\"GPipe\"\n" + last + "3\n", "gpipe 1 [17 15]"},
		{first + "4\nmodule_fqns_per_model_part = [[\"layers.0\"], [\"layers.1\"]]\n", "1f1b <nil> [1 1]"},
		{"pipeline_parallel_degree = 1\n" + each + "4\n", "<nil> <nil> <nil>"},
		{"pipeline_parallel_degree = 4611686018427387904\n", "1f1b <nil> <nil>"}, // and no memory for as many
		{first + "9223372036854775807\n" + each + "1\n", "1f1b <nil> <nil>"},
		{order + "\"Interleaved1F1B\"\n" + each + "1000000\n", "interleaved_1f1b <nil> <nil>"},
	} {
		keys := file + c.keys
		if strings.HasPrefix(c.keys, "pipeline_parallel_degree") {
			keys = strings.Replace(file, "pipeline_parallel_degree = 2\n", "", 1) + c.keys
		}
		o, err := TOML([]byte(keys))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "train.toml", "", o)
		const layout = "constraints.layout."
		if s := drafted(d, layout+"pipeline_schedule", layout+"virtual_pipeline", layout+"stage_layers"); s != c.want {
			t.Errorf("%s: %s, want %s", c.keys, s, c.want)
		}
		for _, f := range d.Findings {
			if f.To == "constraints.layout.stage_layers" && !d.Has(f.To) {
				t.Errorf("%s: %+v, and the job does not say it", c.keys, f)
			}
			if f.Name == "parallelism.pipeline_parallel_schedule" && f.Verdict == draft.Unknown && f.Why != "no schedule that ndc has for 0.2.2" { // 0.3.0 has it
				t.Errorf("%s: %+v", c.keys, f)
			}
		}
	}
}

// TestRounds: a batch of a rank that a step takes several times through a pipeline is named,
// since a job has one pass.
func TestRounds(t *testing.T) {
	const file = "[training]\nsteps = 9\nglobal_batch_size = 64\n[parallelism]\npipeline_parallel_degree = 2\n"
	for _, c := range []struct {
		options string
		nodes   int64
		want    string
	}{
		{"--training.local_batch_size 4 --parallelism.data_parallel_shard_degree 4", 0, "takes it 4 times"},
		{"--training.local_batch_size 2", 2, "takes it 4 times"},
		{"--training.local_batch_size 4", 0, "takes it several times"},
		{"", 1, "the release's default; global_batch_size takes it 2 times"},
		{"--training.local_batch_size 16 --parallelism.data_parallel_shard_degree 4", 0, ""},
		{"--training.local_batch_size 8", 2, ""},
		{"--training.local_batch_size 0", 2, ""},
		{"--training.local_batch_size 2 --parallelism.pipeline_parallel_degree 1", 2, ""},
	} {
		o, err := TOML([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		if c.nodes > 0 {
			d.Set("cluster.nodes", c.nodes, draft.Place{})
			d.Set("cluster.gpus_per_node", int64(8), draft.Place{})
		}
		ReadTorchTitan(d, "train.toml", "", o, TitanOptions(words(c.options))...)
		var got string
		for _, f := range d.Findings {
			if f.Name == "training.local_batch_size" && f.Verdict == draft.Unknown {
				got += f.Why
			}
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.options, got, c.want)
		}
	}
}

// TestSaidOnTheCommandLine: an option means the same on TorchTitan's command line as in its
// file, by its name of an earlier release, too; the last of several counts; one that no
// release has is named.
func TestSaidOnTheCommandLine(t *testing.T) {
	const file = "model.name = \"llama3\"\nmodel.flavor = \"8B\"\nmetrics.log_freq = 5\n"
	for options, more := range map[string]string{
		"--training.batch_size 3":                                "training.batch_size = 3",
		"--experimental.pipeline_parallel_degree=2":              "experimental.pipeline_parallel_degree = 2",
		"--float8.enable_float8_linear":                          "float8.enable_float8_linear = true",
		"--float8.filter_fqns output,norm --training.no_compile": "float8.filter_fqns = [\"output\", \"norm\"]\ntraining.compile = false",
		"--training.max_norm inf":                                "training.max_norm = inf",
		"--lora.rank 8":                                          "lora.rank = 8",
		"--training.steps 3 --compile.components model --compile.components=loss --training.steps=4": "training.steps = 4\ncompile.components = [\"loss\"]",
	} {
		read := func(text, options string) string {
			o, err := TOML([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			d := draft.New()
			ReadTorchTitan(d, "train.toml", "", o, TitanOptions(words("train.py --metrics.log_freq 5 "+options))...)
			var b strings.Builder
			for _, path := range d.Paths() {
				v, _ := d.Get(path)
				fmt.Fprintln(&b, path, v.Value)
			}
			for _, f := range d.Findings {
				if f.Verdict == draft.Unknown {
					fmt.Fprintln(&b, f.Name, f.Why)
				}
			}
			return b.String()
		}
		if got, want := read(file+"training.seq_len = 2048\n", options), read(file+more+"\ntraining.seq_len = 2048\n", ""); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", options, got, want)
		}
	}
}

// TestOffloadOfTorchTitan: parameters in host memory have gradients and optimizer there.
func TestOffloadOfTorchTitan(t *testing.T) {
	for on, want := range map[string]string{"true": "true true", "false": "false <nil>"} {
		o, err := TOML([]byte("[metrics]\nlog_freq = 5\n[training]\nenable_cpu_offload = " + on + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "train.toml", "", o)
		parameters, _ := d.Get("execution.offload.parameters")
		optimizer, _ := d.Get("execution.offload.optimizer")
		if got := fmt.Sprint(parameters.Value, " ", optimizer.Value); got != want {
			t.Errorf("%s: %s, want %s", on, got, want)
		}
	}
}

// TestFiltered: layers that a converter leaves as they are are passed on with it alone.
func TestFiltered(t *testing.T) {
	for text, want := range map[string]draft.Verdict{
		"":                           draft.Left,
		"[model]\nconverters = []\n": draft.Left,
		"[model]\nconverters = [\"quantize.grouped_mm.float8\"]\n": draft.Left,
		"[model]\nconverters = [\"quantize.linear.float8\"]\n":     draft.Passed,
		"[model]\nconverters = [\"float8\"]\n":                     draft.Passed,
		"[float8]\nenable_float8_linear = true\n":                  draft.Passed,
	} {
		o, err := TOML([]byte("[metrics]\nlog_freq = 5\n[training]\nsteps = 9\n[quantize.linear.float8]\nfilter_fqns = [\"output\"]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		d := draft.New()
		ReadTorchTitan(d, "train.toml", "", o)
		for _, f := range d.Findings {
			if f.Name == "quantize.linear.float8.filter_fqns" && f.Verdict != want {
				t.Errorf("%s: %+v, want %s", text, f, want)
			}
		}
		if v, _ := d.Get("backend[\"torchtitan\"].extra_args"); (v.Value != nil) != (want == draft.Passed) {
			t.Errorf("%s: extra_args %v", text, v.Value)
		}
	}
}

// TestRecomputeWords: how programs on top of the Trainer ask for recompute.
func TestRecomputeWords(t *testing.T) {
	for option, want := range map[string]string{"": "none", "--grad_checkpoint True": "full", "--grad_checkpoint False": "none", "--disable_gradient_checkpointing True": "none", "--finetuning_type full": "full", "--finetuning_type full --disable_gradient_checkpointing True": "none"} {
		d := draft.New()
		Launcher(d, "run.sh", words("torchrun --nproc_per_node 8 sft.py --deepspeed z.json --output_dir /o --per_device_train_batch_size 1 "+option), false, false)
		if got := d.Text("constraints.layout.recompute"); got != want {
			t.Errorf("%s: %q, want %q", option, got, want)
		}
	}
}

// TestTruths: a switch of the Trainer takes the words that HfArgumentParser takes; other
// options keep their numbers.
func TestTruths(t *testing.T) {
	const launch = "torchrun --nnodes 1 --nproc_per_node 8 sft.py --deepspeed z.json --output_dir /o --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --bf16 "
	for word, want := range map[string]string{"True": "bf16 full 1", "yes": "bf16 full 1", "1": "bf16 full 1", "Y": "bf16 full 1", "no": "<nil> none 1", "0": "<nil> none 1", "maybe": "<nil> <nil> 1"} {
		d := draft.New()
		Launcher(d, "run.sh", words(launch+word+" --gradient_checkpointing "+word), false, false)
		if s := drafted(d, "training.precision", "constraints.layout.recompute", "constraints.layout.micro_batch_size"); s != want {
			t.Errorf("%s: %s, want %s", word, s, want)
		}
	}
	if err := TrainsOther(words("torchrun sft.py --deepspeed z.json --output_dir /o --use_lora no")); err != nil {
		t.Error(err)
	}
	if err := TrainsOther(words("torchrun sft.py --deepspeed z.json --output_dir /o --use_lora 1")); err == nil {
		t.Error("a launch that trains adapters is read")
	}
}

// TestClippingOfOptimizer: a clipping among the optimizer's parameters, at which DeepSpeed ends,
// is told as that.
func TestClippingOfOptimizer(t *testing.T) {
	n, err := tree.JSON([]byte(`{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "max_grad_norm": 1.0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := draft.New()
	ReadDeepSpeed(d, "ds.json", "", n.Object())
	if i := slices.IndexFunc(d.Findings, func(f draft.Finding) bool { return f.Name == "optimizer.params.max_grad_norm" }); i < 0 || !strings.Contains(d.Findings[i].Why, "gradient_clipping clips") {
		t.Errorf("%+v", d.Findings)
	}
}
