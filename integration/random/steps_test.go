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
	"slices"
	"strconv"
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
	ID         string    `json:"id"`
	Steps      []step    `json:"steps"`
	Validation []float64 `json:"validation"` // the losses of held-out data
	Error      string    `json:"error"`
}

// TestRandomSteps trains small random jobs for a few steps on CPU ranks, and holds what the
// frameworks log against the job: the loss, the rate of every step and the tokens read. What
// several ranks train must repeat losses, those of held-out data too, and gradient norms of a
// single one, and a run that goes back to its checkpoint those of the first time, to the digit.
// NDC_RANDOM_STEPS is how many per version (8), NDC_RANDOM_SEED where to start (1);
// NDC_CONFORMANCE_CHEAP asks the newest versions alone.
func TestRandomSteps(t *testing.T) {
	want, seed := setting("NDC_RANDOM_STEPS", 8), uint64(setting("NDC_RANDOM_SEED", 1))
	for _, framework := range []string{"megatron", "torchtitan", "deepspeed"} {
		versions := trainedVersions(framework)
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
				results, err := train(withSingles(t, launches, folder), python, folder)
				if err != nil {
					t.Error(err)
				}
				again, err := train(rewound(t, launches, results), python, filepath.Join(folder, "again"))
				if err != nil {
					t.Error(err)
				}
				for _, l := range launches {
					t.Run(l.Name, func(t *testing.T) {
						line.Count(t)
						r := results[l.Name]
						t.Log(r.Steps, r.Validation)
						if strings.Contains(r.Error, "this run needs") {
							t.Skip("skipped: ", r.Error) // a newer transformers than the release's
						}
						if r.Error != "" {
							t.Fatal(r.Error)
						}
						for _, complaint := range wrong(l, r.Steps) {
							t.Error(complaint)
						}
						if alone, asked := results[single(l.Name)]; asked {
							for _, complaint := range apart(l, r, alone) {
								t.Error(complaint)
							}
						}
						if a, asked := again[l.Name]; asked && (a.Error != "" || fmt.Sprint(a.Steps) != fmt.Sprint(r.Steps[saved:])) {
							t.Errorf("from the checkpoint of step %d on: %v %s", saved, a.Steps, a.Error)
						}
					})
				}
			})
		}
	}
}

// trainable reports whether a CPU can train what was drawn: Megatron-LM's layers in plain
// torch have no centred norm, it ends in a validation while fp16 looks for its scale and
// parameters are gathered behind other work, and checkpoints of Megatron-FSDP hang over gloo.
func trainable(l *artifacts.Launch) bool {
	switch l.Framework {
	case "deepspeed": // whose Adam of the host would be compiled
		return !l.Execution.OffloadOptimizer
	case "megatron":
		scales := l.Job.Training.Precision == "fp16" && l.Job.Training.Data.Validation != nil
		return !l.Job.Model.Norm.ZeroCentered && !(scales && l.Execution.OverlapParameterGather) && (!l.Execution.FullySharded || l.Job.Training.Checkpoint.Path == "")
	}
	return true
}

// trainedVersions are those that train on a CPU, the newest last.
func trainedVersions(framework string) (versions []string) {
	switch framework {
	case "torchtitan":
		return environment.TorchTitanReleases
	case "deepspeed":
		return slices.SortedFunc(slices.Values(slices.Concat(environment.DeepSpeedReleases, environment.DeepSpeedEdges)), strings.Compare)
	}
	for _, v := range environment.MegatronWheels {
		versions = append(versions, "core_v"+v)
	}
	return versions
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
	if len(launches) == 0 {
		return nil, nil
	}
	ask := map[string]func([]*artifacts.Launch, string, string) ([]trained, error){"megatron": trainMegatron, "torchtitan": trainTorchTitan, "deepspeed": trainDeepSpeed}[launches[0].Framework]
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
		r := trained{ID: a.ID, Validation: a.Validation, Error: a.Error}
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

func trainDeepSpeed(launches []*artifacts.Launch, python, folder string) ([]trained, error) {
	root := filepath.Join(folder, "jobs")
	names := map[string]string{}
	for i, l := range launches {
		names[fmt.Sprint(i)] = l.Name
		if err := writeDeepSpeed(l, filepath.Join(root, fmt.Sprint(i))); err != nil {
			return nil, err
		}
	}
	program, err := filepath.Abs("../deepspeed/run_cases.py")
	if err != nil {
		return nil, err
	}
	out, err := environment.Ask(len(names), &bytes.Buffer{}, []string{"NDC_WITHOUT_KERNELS=1"}, python, program, root)
	var list []trained
	for line := range strings.Lines(out) {
		var r struct {
			Name       string
			Code       int
			Steps      [][4]any
			Validation [][2]any
			Error      string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return list, fmt.Errorf("%w in %q", err, line)
		}
		answer := trained{ID: names[r.Name]}
		if r.Code != 0 {
			answer.Error = fmt.Sprintf("exit code %d: %s", r.Code, r.Error)
		}
		for _, s := range r.Steps {
			n, _ := s[0].(float64)
			answer.Steps = append(answer.Steps, step{Step: int(n), Loss: number(s[1]), Norm: number(s[2]), Rate: number(s[3])})
		}
		for _, v := range r.Validation {
			answer.Validation = append(answer.Validation, number(v[1]))
		}
		list = append(list, answer)
	}
	return list, err
}

func number(text any) float64 {
	s, _ := text.(string)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// writeDeepSpeed writes what run_cases.py starts. Where DeepSpeed would build an Adam for a
// GPU, it is told to use torch's.
func writeDeepSpeed(l *artifacts.Launch, folder string) error {
	if err := l.Write(folder); err != nil {
		return err
	}
	var config map[string]any
	if err := json.Unmarshal(l.Files["ds_config.json"], &config); err != nil {
		return err
	}
	optimizer, _ := config["optimizer"].(map[string]any)
	if kind, _ := optimizer["type"].(string); strings.HasPrefix(kind, "Adam") && !l.Execution.OffloadOptimizer {
		optimizer["params"].(map[string]any)["torch_adam"] = true
	}
	whole, err := json.Marshal(config)
	if err != nil {
		return err
	}
	about, err := json.Marshal(map[string]int{"ranks": l.World()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"ds_config.json": whole, "case.json": about} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
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
		if l.Version == "0.2.2" { // every context rank counts the tokens of all
			read *= int64(l.Layout.ContextParallel)
		}
		switch ahead := l.Framework == "megatron"; { // logs the rate of the next step
		case s.Step != n:
			say("step %d, want %d", s.Step, n)
		case !(s.Loss < uniform+0.7) || s.Loss < uniform-0.7 && training.Start.Path == "": // which has learned
			say("step %d: loss %g of weights that know nothing, the logarithm of the vocabulary is %g", n, s.Loss, uniform)
		case l.Framework != "deepspeed" && s.Read != read: // whose program does not say
			say("step %d: %d tokens read, want %d", n, s.Read, read)
		case training.Precision == "fp16": // steps are passed over while the scale is found, and the schedule waits
		case ahead && math.Abs(s.Rate-rate(training, n)) > 1e-8, !ahead && math.Abs(s.Rate-rate(training, n-1)) > 1e-8:
			say("step %d: a rate of %g, want %g", n, s.Rate, rate(training, n))
		}
	}
	return complaints
}

// rate is the learning rate after so many updates. Schedules count sequences, of which steps
// of a growing batch read ever more.
func rate(t *job.Training, updates int) float64 {
	s, peak := &t.Schedule, t.Optimizer.LearningRate
	at := func(steps int) float64 { return float64(t.TokensOf(int64(steps), 1)) }
	if updates < s.WarmupSteps {
		return peak * at(updates) / at(s.WarmupSteps)
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
	part := min(1, (at(updates)-at(first))/(at(last)-at(first)))
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
