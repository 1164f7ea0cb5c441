//go:build conformance

package random

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	engine "github.com/ndc-dev/ndc/integration/megatron"
	"github.com/ndc-dev/ndc/integration/summary"
	"github.com/ndc-dev/ndc/lang/job"
)

// step is what a framework logged of one.
type step struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
	Norm float64 `json:"norm"`
	Rate float64 `json:"rate"`
	Read int64   `json:"tokens"` // tokens so far
}

// trained is what became of a launch.
type trained struct {
	ID    string `json:"id"`
	Steps []step `json:"steps"`
	Error string `json:"error"`
}

// TestRandomSteps trains small random jobs for a few steps on CPU ranks, and holds what the
// frameworks log against the job: the loss, the rate of every step and the tokens read.
// NDC_RANDOM_STEPS is how many per version (8), NDC_RANDOM_SEED where to start (1);
// NDC_CONFORMANCE_CHEAP asks the newest versions alone.
func TestRandomSteps(t *testing.T) {
	want, seed := setting("NDC_RANDOM_STEPS", 8), uint64(setting("NDC_RANDOM_SEED", 1))
	for _, framework := range []string{"megatron", "torchtitan"} {
		versions := environment.TorchTitanReleases
		if framework == "megatron" {
			versions = megatronWheels()
		}
		if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
			versions = versions[len(versions)-1:]
		}
		for _, version := range versions {
			t.Run(version, func(t *testing.T) {
				line := &summary.Line{Framework: framework, Version: version, What: "random jobs, trained for some steps"}
				line.AddAfter(t)
				python, err := environment.Of(framework, version).Python()
				if err != nil {
					line.Skipped = err.Error()
					t.Skip("skipped: ", err)
				}
				folder := t.TempDir()
				if out, err := exec.Command(python, "../torchtitan/make_data.py", filepath.Join(folder, "data"), "512").CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				launches := small(t, framework, version, folder, seed, want)
				results, err := train(launches, python, folder)
				if err != nil {
					t.Error(err)
				}
				for _, l := range launches {
					t.Run(l.Name, func(t *testing.T) {
						line.Count(t)
						r := results[l.Name]
						t.Log(r.Steps)
						if r.Error != "" {
							t.Fatal(r.Error)
						}
						for _, complaint := range wrong(l, r.Steps) {
							t.Error(complaint)
						}
					})
				}
			})
		}
	}
}

// trainable reports whether a CPU can train what was drawn: Megatron-LM's layers in plain
// torch have no centred norm, checkpoints of Megatron-FSDP hang over gloo, and the attention
// of a CPU has no rules by which it is split over ranks, which TorchTitan leaves to torch.
func trainable(l *artifacts.Launch) bool {
	if l.Framework == "megatron" {
		return !l.Job.Model.Norm.ZeroCentered && (!l.Execution.FullySharded || l.Job.Training.Checkpoint.Path == "")
	}
	return l.Layout.ContextParallel == 1 && (l.Version != "0.2.2" || l.Layout.TensorParallel == 1)
}

// megatronWheels are the tags whose wheels train.
func megatronWheels() (tags []string) {
	for _, v := range environment.MegatronWheels {
		tags = append(tags, "core_v"+v)
	}
	return tags
}

// small draws jobs until enough of them are legal.
func small(t *testing.T, framework, version, folder string, seed uint64, want int) []*artifacts.Launch {
	t.Helper()
	var list []*artifacts.Launch
	end := time.Now().Add(time.Duration(setting("NDC_RANDOM_MINUTES", 10)) * time.Minute)
	for n := uint64(0); len(list) < want && time.Now().Before(end); n++ {
		launches, _ := Legal(DrawSmall(rand.New(rand.NewPCG(seed, n)), framework, version, folder))
		for _, l := range launches {
			if l.Name = fmt.Sprintf("seed %d, job %d", seed, n); trainable(l) {
				list = append(list, l)
			}
		}
	}
	return list
}

// train runs launches of one version one after the other.
func train(launches []*artifacts.Launch, python, folder string) (map[string]trained, error) {
	ask := trainTorchTitan
	if launches[0].Framework == "megatron" {
		ask = trainMegatron
	}
	list, err := ask(launches, python, folder)
	results := map[string]trained{}
	for _, l := range launches {
		results[l.Name] = trained{Error: "no answer"}
	}
	for _, r := range list {
		results[r.ID] = r
	}
	return results, err
}

func trainMegatron(launches []*artifacts.Launch, _, folder string) ([]trained, error) {
	h, err := engine.New("../megatron")
	if err != nil {
		return nil, err
	}
	var given []engine.Launch
	for _, l := range launches {
		given = append(given, engine.Launch{Name: l.Name, Version: l.Version, Capability: "9.0", Nodes: l.Nodes, PerNode: l.PerNode, Files: l.Files})
	}
	answers, err := h.Train(given, filepath.Join(folder, "ranks"))
	var list []trained
	for i, a := range answers {
		r := trained{ID: a.ID, Error: a.Error}
		for _, s := range a.Steps {
			r.Steps = append(r.Steps, step{s.Step, s.Loss, s.Norm, s.Rate, s.Samples * int64(launches[i].Job.Model.SequenceLength)})
		}
		list = append(list, r)
	}
	return list, err
}

func trainTorchTitan(launches []*artifacts.Launch, python, folder string) ([]trained, error) {
	arguments := []string{"--module", "ndc_job", "--config", "run"}
	if launches[0].Version == "0.2.2" {
		arguments = []string{"--job.config_file", "train.toml"}
	}
	var input bytes.Buffer
	for i, l := range launches {
		files := filepath.Join(folder, "jobs", fmt.Sprint(i))
		if err := l.Write(files); err != nil {
			return nil, err
		}
		c := map[string]any{"id": l.Name, "files": files, "world": l.World(), "folder": filepath.Join(folder, "ranks", fmt.Sprint(i)), "arguments": arguments}
		if err := json.NewEncoder(&input).Encode(c); err != nil {
			return nil, err
		}
	}
	program, err := filepath.Abs("../torchtitan/ranks.py")
	if err != nil {
		return nil, err
	}
	out, err := environment.Ask(len(launches), &input, []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}, python, program)
	var list []trained
	for line := range strings.Lines(out) {
		var r trained
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return list, fmt.Errorf("%w in %q", err, line)
		}
		list = append(list, r)
	}
	return list, err
}

// wrong is what of the logged steps is not as the job says.
func wrong(l *artifacts.Launch, steps []step) (complaints []string) {
	say := func(format string, a ...any) { complaints = append(complaints, fmt.Sprintf(format, a...)) }
	training, model := &l.Job.Training, &l.Job.Model
	if len(steps) != training.Steps {
		say("%d steps, want %d", len(steps), training.Steps)
	}
	uniform := math.Log(float64(max(model.VocabSize, model.PaddedVocabSize)))
	for i, s := range steps {
		n := i + 1
		read := training.TokensOf(int64(n), model.SequenceLength)
		switch ahead := l.Framework == "megatron"; { // logs the rate of the next step
		case s.Step != n:
			say("step %d, want %d", s.Step, n)
		case !(math.Abs(s.Loss-uniform) < 0.7):
			say("step %d: loss %g of weights that know nothing, the logarithm of the vocabulary is %g", n, s.Loss, uniform)
		case s.Read != read:
			say("step %d: %d tokens read, want %d", n, s.Read, read)
		case training.Precision == "fp16": // steps are passed over while the scale is found, and the schedule waits
		case training.BatchRamp != nil: // whose schedule counts samples
		case ahead && math.Abs(s.Rate-rate(training, n)) > 1e-8, !ahead && math.Abs(s.Rate-rate(training, n-1)) > 1e-8:
			say("step %d: a rate of %g, want %g", n, s.Rate, rate(training, n))
		}
	}
	return complaints
}

// rate is the learning rate after so many updates.
func rate(t *job.Training, updates int) float64 {
	s, peak := &t.Schedule, t.Optimizer.LearningRate
	if updates < s.WarmupSteps {
		return peak * float64(updates) / float64(s.WarmupSteps)
	}
	first, last := s.WarmupSteps, t.Steps
	switch {
	case s.Kind == "constant":
		return peak
	case s.Kind == "wsd":
		first = t.Steps - s.DecaySteps
	case s.DecaySteps > 0:
		last = min(last, first+s.DecaySteps)
	}
	if updates <= first {
		return peak
	}
	part := min(1, float64(updates-first)/float64(last-first))
	left := 1 - part
	switch shape := s.DecayShape; {
	case s.Kind == "cosine" || s.Kind == "wsd" && shape == "cosine":
		left = (1 + math.Cos(math.Pi*part)) / 2
	case s.Kind == "wsd" && shape == "exponential":
		left = 2*math.Pow(0.5, part) - 1
	case s.Kind == "wsd" && shape == "minus_sqrt":
		left = 1 - math.Sqrt(part)
	}
	return s.MinimumLearningRate + left*(peak-s.MinimumLearningRate)
}
