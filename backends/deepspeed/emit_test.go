package deepspeed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/golden"
)

// cases are jobs with a layout, emitted to testdata/<name>.txtar.
var cases = []struct {
	name   string
	job    func() *job.Job
	layout func(*plan.Layout)
}{
	{"ddp-fp32", func() *job.Job { return tinyLlama(2) }, func(l *plan.Layout) { l.ZeroStage = 0 }},
	{"zero3-bf16-oldest", func() *job.Job {
		j := tinyLlama(4)
		j.Backend.Version, j.Training.Precision = "0.16.4", "bf16"
		return j
	}, func(l *plan.Layout) { l.ZeroStage = 3 }},
	{"hpz", func() *job.Job {
		j := tinyLlama(4)
		j.Backend.Version, j.Training.Precision = "0.18.3", "bf16"
		j.Execution.ZeroHPZPartition = job.Some(2)
		return j
	}, func(l *plan.Layout) { l.ZeroStage = 3 }},
	{"mics", func() *job.Job {
		j := tinyLlama(4)
		j.Backend.Version, j.Training.Precision = "0.19.6", "bf16"
		return j
	}, func(l *plan.Layout) { l.ZeroStage, l.DataParallelReplicate = 3, 2 }},
	{"autotp-offload", func() *job.Job {
		j := tinyLlama(4)
		j.Training.Precision = "bf16"
		j.Execution.OffloadOptimizer = job.Some(true)
		j.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints/it's here/deepspeed", IntervalTime: 1800, KeepLast: 2, SaveOptimizer: true}
		j.Slurm.Time = 3600
		return j
	}, func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 2 }},
	{"autotp-oldest", func() *job.Job {
		j := tinyLlama(4)
		j.Backend.Version, j.Training.Precision = "0.16.4", "bf16"
		return j
	}, func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 1 }},
	{"ulysses", func() *job.Job {
		j := tinyLlama(4)
		j.Training.Precision = "bf16"
		j.Execution.LossChunks = job.Some(4)
		return j
	}, func(l *plan.Layout) {
		l.ContextParallel, l.ZeroStage, l.Recompute, l.RecomputeMethod = 2, 3, plan.RecomputeFull, "uniform"
	}},
	{"autoep-oldest", func() *job.Job {
		j := tinyMoE(4)
		j.Backend.Version, j.Training.Precision = "0.19.2", "bf16"
		return j
	}, func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage = 2, 1 }},
	{"autoep", func() *job.Job {
		j := tinyMoE(4)
		j.Training.Precision = "bf16"
		j.Model.MoE.Router.Balance, j.Model.MoE.Router.AuxCoefficient = "aux_loss", 0.02
		return j
	}, func(l *plan.Layout) { l.ExpertParallel, l.ZeroStage = 2, 2 }},
	{"qwen2", func() *job.Job {
		j := tinyLlama(4)
		j.Training.Precision, j.Model.Architecture, j.Model.Attention.QKVBias = "bf16", "qwen2", true
		return j
	}, func(l *plan.Layout) { l.TensorParallel, l.ZeroStage = 2, 2 }},
	{"glm4-moe", func() *job.Job {
		j := tinyMoE(4)
		m := &j.Model
		j.Training.Precision, m.Architecture, m.Attention.QKVBias, m.Attention.QKNorm, m.PositionEmbedding.Partial = "bf16", "glm4_moe", true, true, 0.5
		m.MoE.Router = job.Router{Score: "sigmoid", Balance: "none", ScalingFactor: 2.5, Normalize: true, DType: "fp32"}
		m.MoE.SharedExperts, m.MoE.SharedExpertFFNHiddenSize = 1, m.MoE.ExpertFFNHiddenSize
		return j
	}, func(l *plan.Layout) { l.ZeroStage = 3 }},
	{"fp16-blend", func() *job.Job {
		j := tinyLlama(2)
		j.Training.Precision = "fp16"
		j.Training.Data = job.Data{Format: "megatron", Split: "9,1,0", DocumentMask: true, ResetPositionIDs: true, Workers: 2,
			Sources:    []job.DataSource{{Name: "a", Path: "/data/a_document", Weight: 0.8}, {Name: "b", Path: "/data/b \"x\"", Weight: 0.2}},
			Validation: &job.Validation{Interval: 2, Steps: 3},
			Tokenizer:  job.Tokenizer{Kind: "none", EndOfDocumentID: job.Some(0)}}
		j.Training.Schedule = job.Schedule{Kind: "wsd", WarmupSteps: 1, DecaySteps: 2, DecayShape: "minus_sqrt"}
		j.Training.Logging = job.Logging{Interval: 5, TensorBoardPath: "/logs/tb", Timers: true, Memory: true, OneLog: true, WandB: &job.WandB{Project: "p", Mode: "offline"}, Profile: &job.Profile{StartStep: 1, EndStep: 2, Tool: "torch"}}
		return j
	}, func(l *plan.Layout) { l.ZeroStage = 1 }},
}

// TestEmitGolden: each case is legal in its layout and emits the files of its golden.
func TestEmitGolden(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases {
		name := filepath.Join("testdata", c.name+".txtar")
		seen[name] = true
		t.Run(c.name, func(t *testing.T) {
			j := c.job()
			p := planFor(t, j, c.layout)
			if ids := broken(t, j, p); len(ids) > 0 {
				t.Fatalf("illegal layout: %v", ids)
			}
			compare(t, name, emit(t, j, p))
		})
	}
	stale, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range stale {
		if !seen[name] {
			t.Errorf("%s belongs to no case", name)
		}
	}
}

// TestWindow: the program ends so early that an evaluation which it begins before ends
// with it, but trains half of the time that it has.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		validation *job.Validation
		want       float64
	}{
		{nil, 3240},
		{&job.Validation{Interval: 10, Steps: 30}, 3140},
		{&job.Validation{Interval: 10, Steps: 3000}, 1620},
		{&job.Validation{Interval: 1000000, Steps: 30}, 3240}, // none is due
	} {
		j := tinyLlama(2)
		j.Training.Checkpoint, j.Training.Data.Validation, j.Slurm.Time = job.Checkpoint{Path: "/c", SaveOptimizer: true}, c.validation, 3600
		j.Training.Steps = 1000
		p := planFor(t, j, func(l *plan.Layout) { l.ZeroStage = 1 })
		p.Time.StepSeconds = 10
		files := emit(t, j, p)
		run := slices.IndexFunc(files, func(f backends.Artifact) bool { return f.Path == "run.json" })
		if want := fmt.Sprintf("\"window_seconds\": %g,", c.want); run < 0 || !strings.Contains(string(files[run].Content), want) {
			t.Errorf("%+v lacks %s", c.validation, want)
		}
	}
}

func emit(t *testing.T, j *job.Job, p *plan.Plan) []backends.Artifact {
	t.Helper()
	files, diags := Backend{}.Emit(j, p)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return files
}

// compare holds the generated files against the golden ones; the program,
// which never changes, is not repeated in every case.
func compare(t *testing.T, name string, files []backends.Artifact) {
	t.Helper()
	var a txtar.Archive
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".py") {
			a.Files = append(a.Files, txtar.File{Name: f.Path, Data: f.Content})
		}
	}
	golden.Compare(t, name, txtar.Format(&a))
}

// Every JSON file reads back as an object without repeated keys, and the
// configuration's keys all exist in the release.
func TestEmittedJSON(t *testing.T) {
	for _, c := range cases {
		j := c.job()
		for _, f := range emit(t, j, planFor(t, j, c.layout)) {
			if filepath.Ext(f.Path) != ".json" {
				continue
			}
			var v map[string]any
			d := json.NewDecoder(bytes.NewReader(f.Content))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				t.Errorf("%s: %s: %v", c.name, f.Path, err)
			}
		}
	}
}

// TestProgramIsWhole: every job gets the whole training program, each file of it marked as
// generated.
func TestProgramIsWhole(t *testing.T) {
	j := tinyLlama(2)
	names := map[string]bool{}
	for _, f := range emit(t, j, planFor(t, j, func(*plan.Layout) {})) {
		names[f.Path] = true
		if strings.HasSuffix(f.Path, ".py") && !bytes.Contains(f.Content, []byte("# Code generated by ndc. DO NOT EDIT.\n")) {
			t.Errorf("%s has no header", f.Path)
		}
	}
	for _, want := range []string{"train.py", "trainer/__init__.py", "trainer/model.py", "trainer/batches.py", "ds_config.json", "run.json", "model/config.json", "launch.sh", "tiny.sbatch"} {
		if !names[want] {
			t.Errorf("%s is not emitted", want)
		}
	}
}

// The program is valid Python, where there is a Python to ask.
func TestProgramParses(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	files, err := filepath.Glob("templates/trainer/*.py")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	check := "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name, encoding='utf-8').read(), name)"
	if out, err := exec.Command(python, append([]string{"-c", check, "templates/train.py"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMasks: GPT-2 takes masks of documents since transformers 4.52.1; other classes,
// and GPT-2 without such masks, ask for no more than their class.
func TestMasks(t *testing.T) {
	gpt2 := func(j *job.Job) {
		m := &j.Model
		m.Architecture, m.TiedEmbeddings, m.MLPBias, m.Attention.Bias, m.Attention.KVHeads = "gpt", true, true, true, 4
		m.Activation.Kind, m.Norm.Kind, m.PositionEmbedding = "gelu", "layernorm", job.PositionEmbedding{Kind: "learned"}
	}
	for _, c := range []struct {
		name   string
		change func(*job.Job)
		want   string
	}{
		{"llama", func(j *job.Job) { j.Training.Data.DocumentMask = true }, "4.45.0"},
		{"gpt2", gpt2, "4.45.0"},
		{"gpt2, masked", func(j *job.Job) { gpt2(j); j.Training.Data.DocumentMask = true }, "4.52.1"},
		{"gpt2, positions restart", func(j *job.Job) { gpt2(j); j.Training.Data.ResetPositionIDs = true }, "4.52.1"},
	} {
		j := tinyLlama(2)
		c.change(j)
		for _, f := range emit(t, j, planFor(t, j, func(*plan.Layout) {})) {
			if want := "\"transformers\": {\n      \"minimum\": \"" + c.want + "\""; f.Path == "run.json" && !strings.Contains(string(f.Content), want) {
				t.Errorf("%s does not ask for transformers %s:\n%s", c.name, c.want, f.Content)
			}
		}
	}
}
