package torchtitan

import (
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	_ "github.com/ndc-dev/ndc/tools/draws"
)

// TestTOMLReadsBack: a TOML library reads the very settings.
func TestTOMLReadsBack(t *testing.T) {
	for _, c := range goldenCases() {
		if c.version != "0.2.2" {
			continue
		}
		v, _ := findVersion(c.job)
		b := &build{v: v, j: c.job, p: testPlan(c.job, c.layout), family: v.find(&c.job.Model)}
		artifacts := emit022(b)
		var got map[string]any
		if err := toml.Unmarshal(artifacts[0].Content, &got); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, s := range b.settings022() {
			var value any = got
			for _, key := range strings.Split(s.path, ".") {
				value = value.(map[string]any)[key]
			}
			if diff := cmp.Diff(fmt.Sprint(s.value), fmt.Sprint(value)); diff != "" {
				t.Errorf("%s: %s: %s", c.name, s.path, diff)
			}
		}
	}
}

// TestBatchArithmetic: what is emitted multiplies to the global batch, with
// pipeline micro-batches inside local_batch_size and without a pipeline as
// gradient accumulation (torchtitan/train.py: gradient_accumulation_steps).
func TestBatchArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layoutOf(func(l *plan.Layout) {
			l.MicroBatchSize = rapid.IntRange(1, 8).Draw(t, "micro_batch_size")
			l.MicroBatches = rapid.IntRange(1, 64).Draw(t, "micro_batches")
			l.DataParallelShard = rapid.IntRange(1, 16).Draw(t, "shard")
			l.DataParallelReplicate = rapid.IntRange(1, 4).Draw(t, "replicate")
			l.PipelineParallel = rapid.IntRange(1, 8).Draw(t, "pipeline")
		})
		global := l.MicroBatchSize * l.MicroBatches * l.DataParallel()
		local := localBatch(&l)
		if global%(local*l.DataParallel()) != 0 {
			t.Fatalf("%d is not a multiple of %d", global, local*l.DataParallel())
		}
		accumulation, inside := global/(local*l.DataParallel()), 1
		if l.PipelineParallel > 1 {
			inside = local / l.MicroBatchSize
		}
		if accumulation*inside != l.MicroBatches {
			t.Errorf("%d × %d forward passes, want %d", accumulation, inside, l.MicroBatches)
		}
	})
}

// torchTitanRate is the framework's schedule
// (components/lr_scheduler.py, linear_warmup_stable_decay), with the warm-up of
// ndc_runtime.py, at step n from 1.
func torchTitanRate(r rate, warmup, steps, n int) float64 {
	total := steps
	if r.totalSteps > 0 {
		total = r.totalSteps
	}
	decay := total - warmup
	if r.decayRatio != nil {
		decay = int(math.RoundToEven(*r.decayRatio * float64(total)))
	}
	stable, current := total+1-warmup-decay, n-1
	switch {
	case current < warmup:
		return float64(current) / float64(warmup) // warm_from_zero in ndc_runtime.py
	case current < warmup+stable:
		return 1
	}
	x := float64(current+1-warmup-stable) / float64(decay)
	y := map[string]float64{"linear": 1 - x, "sqrt": 1 - math.Sqrt(x), "cosine": 0.5 * (1 + math.Cos(math.Pi*x))}[r.decayType]
	return r.minimum + (1-r.minimum)*y
}

// TestSchedules: the emitted options give the rates that the job asks for.
// The framework's last step is one decay step short of the minimum, by its
// own "virtual last step".
func TestSchedules(t *testing.T) {
	base := job.Training{Steps: 100, Optimizer: job.Optimizer{LearningRate: 1e-3}}
	for _, c := range []struct {
		schedule job.Schedule
		at       map[int]float64
	}{
		{job.Schedule{Kind: "cosine", WarmupSteps: 10, MinimumLearningRate: 1e-4}, map[int]float64{1: 0, 10: 0.9, 11: 1, 56: 0.55, 100: 0.1 + 0.9*0.5*(1+math.Cos(math.Pi*89/90))}},
		{job.Schedule{Kind: "linear", WarmupSteps: 0}, map[int]float64{1: 1, 51: 0.5, 100: 0.01}},
		{job.Schedule{Kind: "linear", WarmupSteps: 10, DecaySteps: 190}, map[int]float64{11: 1, 100: 1 - 89.0/190}},
		{job.Schedule{Kind: "wsd", WarmupSteps: 10, DecaySteps: 20, DecayShape: "minus_sqrt"}, map[int]float64{10: 0.9, 11: 1, 81: 1, 86: 0.5, 100: 1 - math.Sqrt(19.0/20)}},
		{job.Schedule{Kind: "constant", WarmupSteps: 4}, map[int]float64{1: 0, 4: 0.75, 5: 1, 100: 1}},
	} {
		training := base
		training.Schedule = c.schedule
		r := rateOf(&training)
		for step, want := range c.at {
			if got := torchTitanRate(r, c.schedule.WarmupSteps, 100, step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: step %d has factor %g, want %g", c.schedule.Kind, step, got, want)
			}
		}
	}
}

// TestFactorIsShort: a factor that gives the part again is written with the fewest digits.
func TestFactorIsShort(t *testing.T) {
	for _, c := range []struct{ part, whole, want float64 }{{3e-4, 3e-3, 0.1}, {1.5e-5, 1.5e-4, 0.1}, {0, 1e-3, 0}, {1e-5, 3e-5, 1e-5 / 3e-5}} {
		if got := factor(c.part, c.whole); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("factor(%g, %g) = %v, want %v", c.part, c.whole, got, c.want)
		}
	}
}

// TestFeedForwardSize: 0.2.2 computes its feed-forward size from dim; the
// emitted factors give any size exactly (models/llama3/model/model.py).
func TestFeedForwardSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := job.Model{HiddenSize: 8 * rapid.IntRange(1, 4096).Draw(t, "dim/8"), FFNHiddenSize: rapid.IntRange(2, 100000).Draw(t, "ffn")}
		hidden := int(ffnFactor(&m) * float64(2*4*m.HiddenSize/3))
		got := m.FFNHiddenSize * ((hidden + m.FFNHiddenSize - 1) / m.FFNHiddenSize)
		if got != m.FFNHiddenSize {
			t.Errorf("dim %d: size %d, want %d", m.HiddenSize, got, m.FFNHiddenSize)
		}
	})
}

// FuzzValues: no value of a job leaves its string literal.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"plain", `a"b`, "a'b\\", "x\ny", "$(touch /tmp/x)", `"""`, "é ✓", "}{", "# no"} {
		f.Add(s)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		f.Skip("no python3 to read the files back")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s != strings.ToValidUTF8(s, "") || strings.ContainsRune(s, 0) {
			t.Skip()
		}
		for _, version := range (Backend{}).Versions() {
			j := testJob(version, denseModel(), 1)
			j.Training.Data.Sources = []job.DataSource{{Name: s, Path: s, Weight: 1}}
			j.Training.Data.Tokenizer.Path = s
			files := emitCase(t, goldenCase{"fuzz", version, j, layoutOf(func(l *plan.Layout) { l.ZeroStage, l.MicroBatches = 0, 8 })}).Files
			for _, file := range files {
				if file.Name == "train.toml" {
					var got struct {
						Model struct{ HF_Assets_Path string }
					}
					if err := toml.Unmarshal(file.Data, &got); err != nil || got.Model.HF_Assets_Path != j.Training.Data.Tokenizer.Path && s != "" {
						t.Errorf("%v: %q", err, got.Model.HF_Assets_Path)
					}
				}
				if file.Name == jobModule+".py" && version == "0.3.0" { // both write DATA alike
					checkLiteral(t, python, string(file.Data), s)
				}
			}
		}
	})
}

// checkLiteral asks Python for the name of the data source.
func checkLiteral(t *testing.T, python, module, want string) {
	t.Helper()
	const program = `import ast, sys
for node in ast.parse(sys.stdin.read()).body:
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DATA":
        sys.stdout.write(ast.literal_eval(node.value)["sources"][0][0])`
	cmd := exec.Command(python, "-X", "utf8", "-c", program)
	cmd.Stdin = strings.NewReader(module)
	got, err := cmd.CombinedOutput()
	if err != nil || strings.ReplaceAll(string(got), "\r", "") != strings.ReplaceAll(want, "\r", "") {
		t.Errorf("%v: Python reads %q, want %q", err, got, want)
	}
}
