package torchtitan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/golden"
	"golang.org/x/tools/txtar"
)

// goldenCase is one job whose files are kept in testdata.
type goldenCase struct {
	name    string
	version string
	job     *job.Job
	layout  plan.Layout
}

func goldenCases() []goldenCase {
	var cases []goldenCase
	for _, version := range (Backend{}).Versions() {
		add := func(name string, m job.Model, gpus int, l plan.Layout, change func(*job.Job)) {
			j := testJob(version, m, gpus)
			if change != nil {
				change(j)
			}
			cases = append(cases, goldenCase{name + "-" + version, version, j, l})
		}
		add("fsdp", denseModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), nil)
		add("hsdp", denseModel(), 4, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.DataParallelReplicate, l.MicroBatches = 2, 2, 2 }), func(j *job.Job) {
			j.Training.Schedule = job.Schedule{Kind: "wsd", WarmupSteps: 1, DecaySteps: 2, DecayShape: "minus_sqrt"}
			j.Training.Checkpoint = job.Checkpoint{Path: "/checkpoints/small/torchtitan", IntervalTime: 1800, KeepLast: 3, SaveOptimizer: true, Async: true}
			j.Training.Logging = job.Logging{Interval: 10, TensorBoardPath: "/logs/tb", WandB: &job.WandB{Project: "p", Entity: "e", Mode: "offline"}, Profile: &job.Profile{StartStep: 3, EndStep: 5}}
			j.Training.Data.Validation = &job.Validation{Path: "/data/valid_document", Interval: 3, Steps: 2}
		})
		add("tp-pp", denseModel(), 8, layoutOf(func(l *plan.Layout) {
			l.TensorParallel, l.PipelineParallel, l.PipelineSchedule, l.DataParallelShard, l.MicroBatches = 2, 2, plan.Schedule1F1B, 2, 4
			l.StageLayers, l.Recompute, l.RecomputeMethod, l.RecomputeLayers = []int{3, 1}, plan.RecomputeFull, "uniform", 1
		}), nil)
		add("experts", expertModel(), 4, layoutOf(func(l *plan.Layout) { l.ExpertParallel, l.DataParallelShard, l.MicroBatches = 2, 4, 2 }), nil)
		add("weights", denseModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), func(j *job.Job) {
			j.Training.Start = job.Start{From: "huggingface", Path: "/models/small"}
		})
		add("latent", latentModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches, l.Recompute = 2, 4, plan.RecomputeNone }), nil)
		add("sink", sinkModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), nil)
		if version != "0.2.2" { // whose projections have no biases, and which cannot split backward passes
			add("dualpipev", denseModel(), 4, layoutOf(func(l *plan.Layout) {
				l.PipelineParallel, l.VirtualPipeline, l.PipelineSchedule, l.DataParallelShard, l.MicroBatches = 2, 2, plan.ScheduleDualPipeV, 2, 4
				l.StageLayers, l.Recompute, l.ZeroStage = []int{1, 1, 1, 1}, plan.RecomputeNone, 2
			}), nil)
			add("zb_h1", denseModel(), 8, layoutOf(func(l *plan.Layout) {
				l.PipelineParallel, l.PipelineSchedule, l.DataParallelShard, l.MicroBatches = 4, plan.ScheduleZBH1, 2, 8
				l.StageLayers, l.Recompute, l.ZeroStage = []int{1, 1, 1, 1}, plan.RecomputeNone, 2
			}), nil)
			add("flex_flash", denseModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), func(j *job.Job) {
				j.Execution.Attention = job.Some(flexFlash)
			})
			add("varlen", latentModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches, l.Recompute = 2, 4, plan.RecomputeNone }), func(j *job.Job) {
				j.Model.Attention.MLA.VHeadDim, j.Execution.Attention = 24, job.Some(varlen) // as wide as keys
			})
			add("biases", denseModel(), 4, layoutOf(func(l *plan.Layout) { l.TensorParallel, l.DataParallelShard, l.MicroBatches = 2, 2, 4 }), func(j *job.Job) {
				j.Model.Architecture, j.Model.Attention.QKVBias = "qwen2", true
			})
		}
		add("float8", denseModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), func(j *job.Job) {
			j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{BF16FirstLayers: 1, BF16LastLayers: 1}
			j.Training.Data = job.Data{Mock: true, Format: "megatron"}
		})
		if version == "0.2.2" {
			add("float8_rows", denseModel(), 2, layoutOf(func(l *plan.Layout) { l.TensorParallel, l.SequenceParallel, l.MicroBatches = 2, true, 4 }), func(j *job.Job) {
				j.Training.Precision, j.Training.FP8 = "fp8", job.FP8{Recipe: "rowwise"}
			})
		}
		add("mxfp8", expertModel(), 2, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 }), func(j *job.Job) {
			j.Training.Precision, j.Cluster.GPU.ComputeCapability = "mxfp8", "10.0"
			j.Training.Data.Sources[0].Path = "${SCRATCH}/text_document"
			j.Training.Checkpoint.Path = "${SCRATCH}/saved/torchtitan"
		})
		add("text", denseModel(), 1, layoutOf(func(l *plan.Layout) { l.ZeroStage, l.MicroBatches = 0, 8 }), func(j *job.Job) {
			j.Training.Data = job.Data{Format: "jsonl", Sources: []job.DataSource{{Name: "it's", Path: "/data/\"q\".jsonl", Weight: 1}},
				Tokenizer: job.Tokenizer{Kind: "huggingface", Path: "/data/tokenizer"}, DocumentMask: true, ResetPositionIDs: true}
		})
	}
	return cases
}

// emitCase builds the files of a case; it fails on any error.
func emitCase(t *testing.T, c goldenCase) *txtar.Archive {
	t.Helper()
	if _, diags := (Backend{}).Target(c.job); diags.HasErrors() {
		t.Fatal(diags)
	}
	artifacts, diags := Backend{}.Emit(c.job, testPlan(c.job, c.layout))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	archive := &txtar.Archive{}
	for _, a := range artifacts {
		archive.Files = append(archive.Files, txtar.File{Name: a.Path, Data: a.Content})
	}
	return archive
}

// TestValidationMasks: 0.2.2's validator asks the model for masks, of which deepseek_v3
// makes some that its SDPA refuses; the module keeps it from that.
func TestValidationMasks(t *testing.T) {
	validation := func(j *job.Job) {
		j.Training.Data.Validation = &job.Validation{Path: "/data/valid", Interval: 2, Steps: 1}
	}
	for _, c := range []struct {
		name  string
		model job.Model
		edit  func(*job.Job)
		want  bool
	}{
		{"latent", latentModel(), validation, true},
		{"latent without validation", latentModel(), func(*job.Job) {}, false},
		{"latent with documents", latentModel(), func(j *job.Job) { validation(j); j.Training.Data.DocumentMask = true }, false},
		{"dense", denseModel(), validation, false},
	} {
		j := testJob("0.2.2", c.model, 2)
		c.edit(j)
		archive := emitCase(t, goldenCase{c.name, "0.2.2", j, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 })})
		for _, f := range archive.Files {
			if got := strings.Contains(string(f.Data), "SDPA knows the causal mask"); f.Name == jobModule+".py" && got != c.want {
				t.Errorf("%s: %t, want %t", c.name, got, c.want)
			}
		}
	}
}

// TestStretch: 0.2.2 leaves YaRN out up to the original length; the module brings it in.
func TestStretch(t *testing.T) {
	for original, want := range map[int]bool{64: false, 127: false, 128: true, 4096: true} {
		j := testJob("0.2.2", latentModel(), 2) // of 128 positions
		j.Model.PositionEmbedding.Scaling.OriginalLength = original
		archive := emitCase(t, goldenCase{"latent", "0.2.2", j, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 })})
		if got := strings.Contains(emitted(t, archive, jobModule+".py"), fmt.Sprintf("model_args.max_seq_len = %d ", original+1)); got != want {
			t.Errorf("stretched from %d: %t, want %t", original, got, want)
		}
	}
}

// TestExpertLayers: the layers that the job keeps in bf16 keep their experts in it, too.
func TestExpertLayers(t *testing.T) {
	const toml, module = "train.toml", jobModule + ".py"
	for _, c := range []struct {
		version, file string
		model         job.Model // of four layers
		fp8           job.FP8
		want          string
	}{
		{"0.2.2", toml, expertModel(), job.FP8{}, `fqns = ["experts"]`},
		{"0.2.2", toml, expertModel(), job.FP8{BF16FirstLayers: 1}, `fqns = ["layers.1.moe.experts", "layers.2.moe.experts", "layers.3.moe.experts"]`},
		{"0.2.2", toml, latentModel(), job.FP8{BF16LastLayers: 1}, `fqns = ["layers.1.moe.experts", "layers.2.moe.experts"]`}, // 0 is dense
		{"0.2.2", toml, latentModel(), job.FP8{BF16LastLayers: 3}, `converters = ["quantize.linear.mx"]`},
		{"0.3.0", module, expertModel(), job.FP8{}, "config = MXFP8GroupedExpertsConverter.Config(model_compile_enabled=True).build().convert(config)"},
		{"0.3.0", module, expertModel(), job.FP8{BF16FirstLayers: 1, BF16LastLayers: 1}, "    MXFP8GroupedExpertsConverter.Config(model_compile_enabled=True).build().convert(replace(config, layers=config.layers[1:3]))"},
	} {
		j := testJob(c.version, c.model, 2)
		j.Training.Precision, j.Training.FP8, j.Cluster.GPU.ComputeCapability = "mxfp8", c.fp8, "10.0"
		archive := emitCase(t, goldenCase{"layers", c.version, j, layoutOf(func(l *plan.Layout) { l.DataParallelShard, l.MicroBatches = 2, 4 })})
		if !strings.Contains(emitted(t, archive, c.file), c.want) {
			t.Errorf("%s on %s with %+v lacks %s", c.model.Name, c.version, c.fp8, c.want)
		}
	}
}

// emitted is a file of a case.
func emitted(t *testing.T, archive *txtar.Archive, name string) string {
	t.Helper()
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no %s", name)
	}
	return string(archive.Files[i].Data)
}

// TestGolden keeps what this package writes; the Slurm scripts and the
// runtime module, which no job changes, have goldens and tests of their own.
func TestGolden(t *testing.T) {
	for _, c := range goldenCases() {
		t.Run(c.name, func(t *testing.T) {
			all := emitCase(t, c)
			kept := &txtar.Archive{}
			for _, f := range all.Files {
				if f.Name == "train.toml" || f.Name == jobModule+".py" {
					kept.Files = append(kept.Files, f)
				}
			}
			golden.Compare(t, filepath.Join("testdata", c.name+".txtar"), txtar.Format(kept))
		})
	}
}

// TestDump writes all files of all cases to a folder, for trying them out.
func TestDump(t *testing.T) {
	dir := os.Getenv("NDC_DUMP")
	if dir == "" {
		t.Skip("NDC_DUMP is not set")
	}
	for _, c := range append(goldenCases(), illegalCases()...) {
		artifacts, _ := Backend{}.Emit(c.job, testPlan(c.job, c.layout))
		for _, f := range artifacts {
			path := filepath.Join(dir, c.name, f.Path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// illegalCases are layouts that a rule refuses and that the framework is
// expected to refuse as well, when it is handed the files all the same.
func illegalCases() []goldenCase {
	var cases []goldenCase
	for _, version := range (Backend{}).Versions() {
		add := func(name string, m job.Model, layout func(*plan.Layout)) {
			l := layoutOf(layout)
			j := testJob(version, m, l.GPUs())
			j.Training.GlobalBatchSize = l.MicroBatchSize * l.MicroBatches * l.DataParallel()
			cases = append(cases, goldenCase{name + "-" + version, version, j, l})
		}
		odd, ffn, long, tied := denseModel(), denseModel(), denseModel(), denseModel()
		odd.VocabSize, ffn.FFNHiddenSize, long.SequenceLength, tied.TiedEmbeddings = 513, 177, 129, true
		tp := func(n int) func(*plan.Layout) {
			return func(l *plan.Layout) { l.TensorParallel, l.DataParallelShard, l.MicroBatches = n, 2, 4 }
		}
		pp := func(s plan.Schedule, v, m int) func(*plan.Layout) {
			return func(l *plan.Layout) {
				l.PipelineParallel, l.PipelineSchedule, l.VirtualPipeline, l.MicroBatches, l.DataParallelShard = 2, s, v, m, 2
			}
		}
		add("kv-heads", denseModel(), tp(4))
		add("heads", denseModel(), tp(8))
		add("vocabulary", odd, tp(2))
		add("feed-forward", ffn, tp(2))
		add("sequence", long, tp(2))
		add("tied", tied, pp(plan.Schedule1F1B, 1, 4))
		add("micro-batches", denseModel(), pp(plan.Schedule1F1B, 1, 1))
		add("rounds", denseModel(), pp(plan.ScheduleInterleaved1F1B, 2, 5))
		add("uneven-experts", expertModel(), func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel, l.MicroBatches = 3, 3, 1 })
		add("expert-ranks", expertModel(), func(l *plan.Layout) { l.DataParallelShard, l.ExpertParallel, l.MicroBatches = 2, 4, 4 })
	}
	return cases
}

// TestPythonParses: every emitted module is Python.
func TestPythonParses(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	var modules []string
	for _, c := range goldenCases() {
		for _, f := range emitCase(t, c).Files {
			if filepath.Ext(f.Name) == ".py" {
				modules = append(modules, string(f.Data))
			}
		}
	}
	input, err := json.Marshal(modules)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", "import ast, json, sys\nfor module in json.load(sys.stdin): ast.parse(module)")
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGradients022: 0.2.2 scales gradients by themselves under FSDP alone.
func TestGradients022(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*plan.Layout)
		factor string
	}{
		{"FSDP", func(l *plan.Layout) { l.DataParallelShard = 2 }, ""},
		{"HSDP", func(l *plan.Layout) { l.DataParallelShard, l.DataParallelReplicate = 2, 2 }, ""},
		{"context alone", func(l *plan.Layout) { l.ContextParallel, l.DataParallelReplicate = 2, 2 }, ""},
		{"replicas", func(l *plan.Layout) { l.DataParallelReplicate, l.ZeroStage = 4, 0 }, "4"},
		{"a pipeline", func(l *plan.Layout) { l.PipelineParallel, l.DataParallelShard = 2, 2 }, "1 / (8 * 128)"},
	} {
		j := testJob("0.2.2", denseModel(), 8)
		got := ""
		if g := (&build{j: j, p: testPlan(j, layoutOf(c.change))}).gradients022(); g != nil {
			got = g.Factor
		}
		if got != c.factor {
			t.Errorf("%s: factor %q, want %q", c.name, got, c.factor)
		}
	}
}

// TestGathersOfFloat8: the models of 0.2.2 gather in 8 bits for a converter named
// float8, which is the name of none.
func TestGathersOfFloat8(t *testing.T) {
	j := testJob("0.2.2", denseModel(), 2)
	j.Training.Precision = "fp8"
	tg, diags := Backend{}.Target(j)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	files := emitCase(t, goldenCase{job: j, layout: layoutOf(func(l *plan.Layout) { l.TensorParallel, l.SequenceParallel = 2, true })})
	for _, f := range files.Files {
		if f.Name == "train.toml" && tg.Runtime.TensorParallel.GathersQuantised != strings.Contains(string(f.Data), `"float8"`) {
			t.Errorf("gathers in 8 bits: %t, with\n%s", tg.Runtime.TensorParallel.GathersQuantised, f.Data)
		}
	}
}
