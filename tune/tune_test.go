package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
)

// known are candidates of some step times whose errors have nothing in common.
func known(spread float64, seconds ...float64) *uncertainty.Joint {
	j := &uncertainty.Joint{}
	for i, s := range seconds {
		j.Add(spread)
		j.Mean[i] = math.Log(s)
	}
	return j
}

func candidates(n int, hours float64) []Candidate {
	return slices.Repeat([]Candidate{{GPUHours: hours, Features: 3}}, n)
}

// TestChoose: what may save more than it costs, the likeliest first, and of two that
// are bound to one another only one.
func TestChoose(t *testing.T) {
	j := known(0.05, 10, 10.1, 10.11, 20, 10.2)
	// The third is what the second is.
	for i := range j.Mean {
		j.Covariance[i][2], j.Covariance[2][i] = j.Covariance[i][1], j.Covariance[1][i]
	}
	j.Covariance[2][2] = j.Covariance[1][1]
	b := Budget{Run: 1000, Trial: 50}
	r := Choose(j, candidates(5, 2), b)
	if diff := cmp.Diff([]int{0, 1, 4}, r.Candidates); diff != "" {
		t.Errorf("chosen: %s", diff)
	}
	if r.GPUHours != 8 || !r.Worth(b) {
		t.Errorf("it takes %g GPU-hours, worth it: %t", r.GPUHours, r.Worth(b))
	}
	if first := Choose(j, candidates(5, 2), Budget{Run: 1000, Trial: 12}); !slices.Equal(first.Candidates, []int{0, 1}) {
		t.Errorf("within 12 GPU-hours: %v", first.Candidates)
	}
	dear := Choose(j, candidates(5, 2), Budget{Run: 10, Trial: 50})
	if dear.Worth(Budget{Run: 10, Trial: 50}) || len(dear.Candidates) != 1 {
		t.Errorf("of a training of 10 GPU-hours: %+v", dear)
	}
	list := candidates(5, 2)
	list[3].Features = 0
	if with := Choose(j, list, b); !slices.Equal(with.Candidates, []int{0, 3, 1, 4}) {
		t.Errorf("with the simplest: %v", with.Candidates)
	}
	if many := Choose(known(0.05, slices.Repeat([]float64{10}, 20)...), candidates(20, 0.01), b); len(many.Candidates) != Most {
		t.Errorf("%d candidates", len(many.Candidates))
	}
}

// TestGain: the expected saving is that of taking the better of two, whose closed
// form is sigma / sqrt(pi) for two equal independent ones.
func TestGain(t *testing.T) {
	r := Choose(known(0.05, 10, 10), candidates(2, 0), Budget{Run: 1000, Trial: 1})
	if want := 1000 * 0.05 / math.Sqrt(math.Pi); math.Abs(r.Gain-want) > 0.06*want {
		t.Errorf("gain %g, want about %g", r.Gain, want)
	}
}

// TestOrder: the first candidate first and last, the others backwards every second
// time.
func TestOrder(t *testing.T) {
	r := Round{Candidates: []int{0, 2, 5}}
	if got := fmt.Sprint(r.Order(1), r.Order(2)); got != "[0 2 5 0] [0 5 2 0]" {
		t.Error(got)
	}
}

// TestLearn: a machine that slows down while the allocation lasts moves nobody's
// place, and what was measured outweighs what was predicted.
func TestLearn(t *testing.T) {
	before := known(0.05, 10, 10.3, 9.9)
	truth := []float64{10, 9.5, 10.4}
	var runs []Run
	for k, i := range []int{0, 1, 2, 0} {
		at := float64(k) / 3
		runs = append(runs, Run{Candidate: i, At: at, Seconds: 1.07 * truth[i] * (1 + 0.03*at), Spread: 0.002})
	}
	after := Learn(before, runs)
	for i := 1; i < 3; i++ {
		got, want := after.Difference(i, 0), math.Log(truth[i]/truth[0])
		if math.Abs(got.Mean-want) > 0.012 || got.Spread > 0.02 || math.Abs(got.Mean-want) > 2*got.Spread {
			t.Errorf("candidate %d: %.4f ± %.4f, want %.4f", i, got.Mean, got.Spread, want)
		}
	}
	if best := Best(after, []int{0, 1, 2}); best != 1 {
		t.Errorf("the best is %d", best)
	}
	if before.Mean[0] != math.Log(10) || len(before.Mean) != 3 {
		t.Error("what was known before has changed")
	}
	other := slices.Clone(runs)
	for i := range other {
		other[i].Allocation, other[i].Seconds = 1, runs[i].Seconds*1.2
	}
	twice := Learn(before, append(other, runs...))
	if one, two := after.Difference(1, 0), twice.Difference(1, 0); two.Spread >= one.Spread || math.Abs(two.Mean-one.Mean) > 0.01 {
		t.Errorf("slower nodes in a second allocation: %v, then %v", one, two)
	}
}

// TestNext: the better half goes on; what failed does not.
func TestNext(t *testing.T) {
	j := known(0.01, 10, 10.05, 9.9, 9.95, 10.5)
	b := Budget{Run: 10000, Trial: 50}
	r := Next(j, candidates(5, 1), []int{0, 1, 3, 4}, nil, 0, b)
	if !slices.Equal(r.Candidates, []int{0, 3, 1}) || r.GPUHours != 4 || !r.Worth(b) {
		t.Errorf("%+v", r)
	}
	sure := known(0.0001, 10, 9, 11)
	if r := Next(sure, candidates(3, 1), []int{0, 1, 2}, nil, 0, b); r.Worth(b) {
		t.Errorf("nothing is in doubt, and another round is worth it: %+v", r)
	}
}

// TestReserve: a candidate for which the first round has no room joins the second
// where one that errs with it was faster than predicted, and else does not.
func TestReserve(t *testing.T) {
	j := known(0.04, 10, 10.2, 10.25)
	j.Covariance[1][2], j.Covariance[2][1] = 0.9*0.04*0.04, 0.9*0.04*0.04
	list := candidates(3, 1)
	first := Choose(j, list, Budget{Run: 600, Trial: 6})
	if !slices.Equal(first.Candidates, []int{0, 1}) || !slices.Equal(first.Reserve, []int{2}) || first.GPUHours != 3 {
		t.Fatalf("%+v", first)
	}
	for measured, want := range map[float64][]int{9.3: {0, 1, 2}, 11: {0, 1}} {
		after := Learn(j, []Run{{Candidate: 0, Seconds: 10}, {Candidate: 1, At: 0.5, Seconds: measured}, {Candidate: 0, At: 1, Seconds: 10}})
		if got := Next(after, list, []int{0, 1}, []int{2}, 0, Budget{Run: 600, Trial: 10}); !slices.Equal(got.Candidates, want) {
			t.Errorf("measured %g s: %+v, want %v", measured, got, want)
		}
	}
	tight := Learn(j, []Run{{Candidate: 0, Seconds: 10}, {Candidate: 1, At: 1, Seconds: 9.3}})
	if got := Next(tight, list, []int{0, 1}, []int{2}, 0, Budget{Run: 600, Trial: 3}); !slices.Equal(got.Candidates, []int{0, 1}) {
		t.Errorf("without room: %+v", got)
	}
}

// TestShort: few steps, from scratch, of which nothing is kept; the job stays as it
// is.
func TestShort(t *testing.T) {
	j := &job.Job{Folder: "long"}
	j.Training.Steps, j.Training.GlobalBatchSize, j.Model.SequenceLength = 1000, 4, 8
	j.Training.Optimizer.LearningRate, j.Training.Schedule.WarmupSteps = 3e-4, 100
	j.Training.Checkpoint.Path, j.Training.BatchRamp = "/checkpoints", &job.BatchRamp{}
	j.Slurm.Chain.UntilDone = true
	j.Sources = job.Sources{"training.checkpoint.path": {Origin: job.FromSpec}, "training.seed": {Origin: job.FromSpec}}
	s := Short(j, 20, "candidate-1")
	if s.Training.Steps != 20 || s.Training.Tokens != 640 || s.Training.Optimizer.LearningRate != 6e-5 || s.Training.Checkpoint.Path != "" ||
		s.Training.BatchRamp != nil || s.Slurm.Chain.UntilDone || s.Folder != "candidate-1" {
		t.Errorf("%+v", s)
	}
	if s.Sources["training.checkpoint.path"].Origin != job.FromTrial || s.Sources["training.seed"].Origin != job.FromSpec {
		t.Errorf("%v", s.Sources)
	}
	if j.Training.Steps != 1000 || j.Sources["training.checkpoint.path"].Origin != job.FromSpec {
		t.Error("the job has changed")
	}
}

// TestSteps: steps for a minute, behind those that tell nothing, of which fp16 has more.
func TestSteps(t *testing.T) {
	for step, want := range map[float64]int{0.01: 105, 1: 65, 12: 15, 100: 15} {
		if got := Steps(units.Seconds(step), "bf16"); got != want {
			t.Errorf("of %g s: %d steps, want %d", step, got, want)
		}
		if got := Steps(units.Seconds(step), "fp16"); got != want+20 {
			t.Errorf("of %g s in fp16: %d steps, want %d", step, got, want+20)
		}
	}
}

// TestSound: a file whose texts are more than words of a line, or whose numbers are
// none of runs, is no trial.
func TestSound(t *testing.T) {
	sound := func() *File {
		return &File{FormatVersion: FormatVersion, Job: "a.b-c", Backend: "megatron", GPUs: 8, RunGPUHours: 1e6, Known: known(0.05, 2), LimitSeconds: 60,
			Candidates: []Member{{Name: "candidate-1", StepSeconds: 2, GPUHours: 1}}, Rounds: []Held{{Script: "round-1.sbatch", Gain: -1}},
			Directives: []string{"--partition=h100", "--comment='é x'"}, Header: "# of the site\n\n#SBATCH --mail-type=END\n"}
	}
	if !sound().Sound() {
		t.Fatal("a trial is none")
	}
	for what, change := range map[string]func(f *File){
		"a job of two lines":       func(f *File) { f.Job = "a\nreboot" },
		"a job elsewhere":          func(f *File) { f.Job = "../a" },
		"a backend of two words":   func(f *File) { f.Backend = "a b" },
		"a directive of two lines": func(f *File) { f.Directives[0] += "\nreboot" },
		"a directive that is none": func(f *File) { f.Directives[0] = "reboot" },
		"a command in the header":  func(f *File) { f.Header += "reboot" },
		"a script elsewhere":       func(f *File) { f.Rounds[0].Script = "../round-1.sbatch" },
		"no hours":                 func(f *File) { f.BudgetGPUHours = -1 },
		"hours without end":        func(f *File) { f.RunGPUHours = 1e300 },
		"a run without end":        func(f *File) { f.LimitSeconds = 1e300 },
		"a gain without end":       func(f *File) { f.Rounds[0].Gain = -1e300 },
		"a round without end":      func(f *File) { f.Rounds[0].GPUHours = 1e300 },
		"no step":                  func(f *File) { f.Candidates[0].StepSeconds = 0 },
		"a step without end":       func(f *File) { f.Candidates[0].StepSeconds = 1e300 },
		"a mean without end":       func(f *File) { f.Known.Mean[0] = 1e9 },
		"a spread without end":     func(f *File) { f.Known.Covariance[0][0] = 1e18 },
	} {
		f := sound()
		if change(f); f.Sound() {
			t.Errorf("%s is sound", what)
		}
	}
}

// TestRead: runs are told apart by their job and their turn; what fails is counted.
func TestRead(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, Job: "pretrain", Backend: "megatron", GPUs: 8, RunGPUHours: 100, Known: known(0.05, 2, 2, 2), Rounds: []Held{{Script: "round-1.sbatch", Runs: []string{"candidate-1", "candidate-2", "candidate-3", "candidate-1"}}}}
	for i := range 3 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2})
	}
	if !f.Sound() {
		t.Fatal("the file is no trial")
	}
	attempts := attemptsOf(t, `ndc: logging to somewhere
ndc: run 1 of 4 in job 7: candidate-1
ndc: run 1 ended with status 0 after 61 s
ndc: run 2 of 4 in job 7: candidate-2
noise
ndc: run 2 ended with status 1 after 30 s
ndc: run 3 of 4 in job 7: candidate-3
ndc: run 3 ended with status 0 after 61 s
ndc: run 4 of 4 in job 7: candidate-1
`)
	if stamped := attemptsOf(t, "2026-11-29T10:00:00.123Z ndc: run 1 of 4 in job 7: candidate-1\r\n2026-11-29 10:01:01 ndc: run 1 ended with status 0 after 61 s\n"); !slices.Equal(stamped, attempts[:1]) {
		t.Errorf("with times in front: %+v", stamped)
	}
	if len(attempts) != 4 || attempts[1].Status != 1 || attempts[3].Status != -1 {
		t.Fatalf("%+v", attempts)
	}
	of := map[string]*logs.Log{
		"candidate-1": logOf(run(7, 2.0) + run(7, 2.02)), "candidate-2": logOf("ndc: job 7 on a\ntorch.OutOfMemoryError: CUDA out of memory.\n"),
		"candidate-3": logOf(run(7, 1.8)),
	}
	r, err := Read(f, attempts, of)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Standings; r.Unended != 1 || s[0].Runs != 2 || s[1].Runs != 0 || s[2].Runs != 1 || !slices.Equal(s[1].Failures, []string{"out_of_memory"}) {
		t.Errorf("%+v", s)
	}
	if s := r.Standings[2]; r.Pick != "candidate-3" || s.Fastest < 0.95 || s.Range[0] > -0.1 || s.Range[1] < -0.1 || r.SavedGPUHours[0] < 5 {
		t.Errorf("%+v", r)
	}
	if next := r.Next(f); !slices.Equal(next.Candidates, []int{0, 2}) {
		t.Errorf("next: %+v", next)
	}
	f.RunGPUHours, f.BudgetGPUHours = 1e4, 20
	f.Known = known(0.05, 2, 2, 2, 1.9, 1.9)
	f.Candidates[1].DeviceBytes = 70
	for i, bytes := range []units.Bytes{60, 80} { // the second needs more than what ran out of memory
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(3 + i), GPUHours: 1, StepSeconds: 1.9, DeviceBytes: bytes})
	}
	if r, err = Read(f, attempts, of); err != nil || !r.Standings[3].Reserve || r.Standings[2].Reserve {
		t.Fatalf("%v: %+v", err, r)
	}
	if next := r.Next(f); !slices.Equal(next.Candidates, []int{0, 2, 3}) {
		t.Errorf("next with a reserve: %+v", next)
	}
	if _, err := Read(f, attempts[1:2], of); err == nil {
		t.Error("a run out of memory tells something")
	}
	of["candidate-3"] = logOf(run(7, 0.3)) // nothing is that much faster than predicted
	if r, err = Read(f, attempts, of); err != nil || r.Pick != "candidate-1" || r.Standings[2].Runs != 0 || !slices.Equal(r.Standings[2].Failures, []string{"implausible_step_time"}) {
		t.Errorf("%v: %+v", err, r)
	}
	of["candidate-1"] = logOf(run(7, 20) + run(7, 20))
	if _, err := Read(f, attempts, of); err == nil || !strings.Contains(err.Error(), "at most 4 times as long as predicted") {
		t.Error(err)
	}
	for _, wrong := range []string{"candidate-4", "candidate-9"} { // one in reserve, and none of the trial
		attempts[0].Candidate = wrong
		if _, err := Read(f, attempts, of); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("a run of %s: %v", wrong, err)
		}
	}
}

// TestReadFailed: the layout of the plan is not run again where it cannot be, and another
// one runs first and last; what did not come to run for reasons of the machine runs again.
func TestReadFailed(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, GPUs: 8, RunGPUHours: 1e4, BudgetGPUHours: 100, Known: known(0.05, 2, 2, 2, 2),
		Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2", "candidate-3", "candidate-4", "candidate-1"}}}}
	for i := range 4 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2})
	}
	const failed = "ndc: run 1 of 5 in job 7: candidate-1\nndc: run 1 ended with status 1 after 20 s\n"
	told := attemptsOf(t, failed+`ndc: run 2 of 5 in job 7: candidate-2
ndc: run 2 ended with status 0 after 61 s
ndc: run 3 of 5 in job 7: candidate-3
`) // and there the allocation ended
	of := map[string]*logs.Log{
		"candidate-1": logOf("ndc: job 7 on a\ntorch.OutOfMemoryError: CUDA out of memory.\n"), "candidate-2": logOf(run(7, 2.0)),
		"candidate-3": logOf("ndc: job 7 on a\n"),
	}
	for i := range f.Candidates {
		f.Candidates[i].DeviceBytes = units.Bytes(80 - i)
	}
	r, err := Read(f, told, of)
	if err != nil {
		t.Fatal(err)
	}
	if next := r.Next(f); !slices.Equal(next.Candidates, []int{1, 2, 3}) && !slices.Equal(next.Candidates, []int{1, 3, 2}) || next.GPUHours != 4 {
		t.Errorf("next where the first ran out of memory: %+v", next)
	}
	of["candidate-1"] = logOf("ndc: job 7 on a\nNODE_FAIL of a\n")
	if r, err = Read(f, told, of); err != nil {
		t.Fatal(err)
	}
	if next := r.Next(f); next.Candidates[0] != 0 || len(next.Candidates) != 4 {
		t.Errorf("next where a node failed: %+v", next)
	}
	if _, err := Read(f, attemptsOf(t, failed), map[string]*logs.Log{"candidate-1": logOf("ndc: job 7 on a\ntorch.OutOfMemoryError: CUDA out of memory.\n")}); err == nil || !strings.Contains(err.Error(), "1 out of memory") {
		t.Error(err)
	}
}

// TestReadNoNumber: a candidate whose loss is no number at the end of a run is not the one to
// pin, however fast it is; one that was none for a while is as good as the others.
func TestReadNoNumber(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, GPUs: 8, RunGPUHours: 1e4, BudgetGPUHours: 100, Known: known(0.05, 2, 2, 2), Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2", "candidate-3"}}}}
	for i := range 3 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2})
	}
	var told string
	for i := range 3 {
		told += fmt.Sprintf("ndc: run %d of 3 in job 7: candidate-%[1]d\nndc: run %[1]d ended with status 0 after 60 s\n", i+1)
	}
	spoiled := strings.ReplaceAll(run(7, 1.6), "loss 2.5", "loss nan")
	once := strings.Replace(run(7, 1.8), "step 3/12 loss 2.5", "step 3/12 loss nan", 1)
	r, err := Read(f, attemptsOf(t, told), map[string]*logs.Log{"candidate-1": logOf(run(7, 2)), "candidate-2": logOf(spoiled), "candidate-3": logOf(once)})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Standings[1]; r.Pick != "candidate-3" || s.Runs != 0 || !slices.Equal(s.Failures, []string{"not_a_number"}) {
		t.Errorf("%s of %+v", r.Pick, r.Standings)
	}
}

// TestReadFull: where all that ran ran out of memory, what needs less of it is named.
func TestReadFull(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, Job: "pretrain", GPUs: 8, GPUBytes: 80 * units.GiB, Known: known(0.05, 2, 2, 2, 2, 2), Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2", "candidate-1"}}}}
	for i, gib := range []units.Bytes{70, 66, 60, 50, 67} {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2, DeviceBytes: gib * units.GiB})
	}
	const full = "ndc: job 7 on a\ntorch.OutOfMemoryError: CUDA out of memory.\n"
	told := attemptsOf(t, "ndc: run 1 of 3 in job 7: candidate-1\nndc: run 1 ended with status 1 after 20 s\nndc: run 2 of 3 in job 7: candidate-2\nndc: run 2 ended with status 1 after 20 s\n")
	of := map[string]*logs.Log{"candidate-1": logOf(full), "candidate-2": logOf(full)}
	_, err := Read(f, told, of)
	for _, want := range []string{
		"2 out of memory. What ran out of memory was predicted to need 66.0 GiB of a GPU and more; candidate-4, which has not run, is predicted to need 50.0 GiB",
		"candidate-4/pretrain.sbatch", `memory_headroom = "18%"`, // 17.5 would leave just what ran out
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	for i := range f.Candidates {
		f.Candidates[i].DeviceBytes = 66 * units.GiB
	}
	if _, err := Read(f, told, of); err == nil || strings.Contains(err.Error(), "which has not run") || !strings.Contains(err.Error(), `"18%"`) {
		t.Error(err)
	}
	of["candidate-1"], of["candidate-2"] = logOf("ndc: job 7 on a\n"), logOf("ndc: job 7 on a\n")
	if _, err := Read(f, told, of); err == nil || strings.Contains(err.Error(), "memory") {
		t.Error(err)
	}
}

// TestReadFullLater: a candidate that runs out of memory behind steady steps, in any of its
// runs, tells of its time, and is not to be taken; where all do, there is no result.
func TestReadFullLater(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, Job: "pretrain", GPUs: 8, GPUBytes: 80 * units.GiB, RunGPUHours: 100, BudgetGPUHours: 100, Known: known(0.05, 2, 2), Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2", "candidate-1"}}}}
	for i := range 2 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2, DeviceBytes: 70 * units.GiB})
	}
	attempts := attemptsOf(t, "ndc: run 1 of 3 in job 7: candidate-1\nndc: run 1 ended with status 0 after 60 s\nndc: run 2 of 3 in job 7: candidate-2\nndc: run 2 ended with status 1 after 20 s\nndc: run 3 of 3 in job 7: candidate-1\nndc: run 3 ended with status 0 after 60 s\n")
	const full = "torch.OutOfMemoryError: CUDA out of memory.\n"
	of := map[string]*logs.Log{"candidate-1": logOf(run(7, 2) + run(7, 2)), "candidate-2": logOf(run(7, 1.5) + full)}
	r, err := Read(f, attempts, of)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Standings[1]; r.Pick != "candidate-1" || s.Runs != 1 || s.Fastest != 0 || !slices.Equal(s.Failures, []string{"out_of_memory"}) {
		t.Errorf("%s of %+v", r.Pick, r.Standings)
	}
	if next := r.Next(f); slices.Contains(next.Candidates, 1) {
		t.Errorf("next: %+v", next)
	}
	of["candidate-1"], of["candidate-2"] = logOf(run(7, 2)+run(7, 2)+full), logOf(run(7, 2.5))
	if r, err = Read(f, attempts, of); err != nil || r.Pick != "candidate-2" || !slices.Equal(r.Next(f).Candidates, []int{1}) {
		t.Errorf("%v: %+v", err, r)
	}
	of["candidate-2"] = logOf(run(7, 1.5) + full)
	if _, err := Read(f, attempts, of); err == nil || !strings.Contains(err.Error(), "2 out of memory") {
		t.Error(err)
	}
}

// TestReadCrashed: a run that an error ends behind steady steps tells nothing, unless they were
// all of its steps, or the error is none of the candidate's; it is listed in any case.
func TestReadCrashed(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, GPUs: 8, Steps: 15, RunGPUHours: 100, BudgetGPUHours: 100, Known: known(0.05, 2, 2), Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2"}}}}
	for i := range 2 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2})
	}
	const (
		crash  = "ndc: rank 3 on a failed first, at 2026-11-29 10:00:00: RuntimeError: sizes differ\n"
		remote = "NCCL WARN NET/IB : Got completion from peer with status=12\n"
	)
	for _, c := range []struct {
		name, log string
		steps     int
		status    string
		told      bool
		why       []string
	}{
		{"a traceback", run(7, 1.8) + crash, 15, "1", false, []string{"unexplained"}},
		{"a traceback behind the last step", run(7, 1.8) + crash, 12, "1", true, []string{"unexplained"}},
		{"nothing but a status", run(7, 1.8), 15, "3", false, []string{"status 3"}},
		{"the limit of its time", run(7, 1.8), 15, "124", true, []string{"time_limit"}},
		{"the network", run(7, 1.8) + remote, 15, "1", true, []string{"network"}},
		{"what the run got over", run(7, 1.8) + remote, 15, "0", true, nil},
		{"steps that go on", run(7, 1.8), 15, "", true, nil},
	} {
		f.Steps = c.steps
		text := "ndc: run 1 of 2 in job 7: candidate-1\nndc: run 1 ended with status 0 after 60 s\nndc: run 2 of 2 in job 7: candidate-2\n"
		if c.status != "" {
			text += "ndc: run 2 ended with status " + c.status + " after 60 s\n"
		}
		r, err := Read(f, attemptsOf(t, text), map[string]*logs.Log{"candidate-1": logOf(run(7, 2)), "candidate-2": logOf(c.log)})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		pick := "candidate-1"
		if c.told {
			pick = "candidate-2"
		}
		if s := r.Standings[1]; r.Pick != pick || s.Runs > 0 != c.told || !slices.Equal(s.Failures, c.why) {
			t.Errorf("%s: %s of %+v", c.name, r.Pick, r.Standings)
		}
		if next := r.Next(f); slices.Contains(next.Candidates, 1) != c.told {
			t.Errorf("%s: next is %+v", c.name, next)
		}
	}
}

// TestReadSlower: a run that is slower as a whole than others of its candidate, by its
// allocation or by when it was, counts. That is what the first candidate runs twice for.
func TestReadSlower(t *testing.T) {
	f := &File{FormatVersion: FormatVersion, GPUs: 8, RunGPUHours: 100, Known: known(0.05, 2, 2),
		Rounds: []Held{{Runs: []string{"candidate-1", "candidate-2", "candidate-1"}}, {Runs: []string{"candidate-1", "candidate-2"}}}}
	for i := range 2 {
		f.Candidates = append(f.Candidates, Member{Name: FolderOf(i), GPUHours: 1, StepSeconds: 2})
	}
	attempts := attemptsOf(t, `ndc: run 1 of 3 in job 7: candidate-1
ndc: run 1 ended with status 0 after 61 s
ndc: run 2 of 3 in job 7: candidate-2
ndc: run 2 ended with status 0 after 61 s
ndc: run 3 of 3 in job 7: candidate-1
ndc: run 3 ended with status 0 after 61 s
ndc: run 1 of 2 in job 8: candidate-1
ndc: run 1 ended with status 0 after 61 s
ndc: run 2 of 2 in job 8: candidate-2
ndc: run 2 ended with status 0 after 61 s
`)
	r, err := Read(f, attempts, map[string]*logs.Log{
		"candidate-1": logOf(run(7, 2.0) + run(7, 2.0) + run(8, 2.2)), "candidate-2": logOf(run(7, 1.9) + run(8, 2.09)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Standings; r.Unended != 0 || s[0].Runs != 3 || s[1].Runs != 2 || len(s[0].Failures) != 0 {
		t.Errorf("%+v", s)
	}
	if s := r.Standings[1]; r.Pick != "candidate-2" || s.Range[0] > -0.05 || s.Range[1] < -0.05 {
		t.Errorf("%+v", s)
	}
}

// run is a log of DeepSpeed's program of twelve steps.
func run(number int, seconds float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ndc: job %d on a\n", number)
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&b, "0: step %d/12 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds %.4f tokens/s/GPU 512.0\n", i, seconds*(1+0.002*float64(i%2)))
	}
	return b.String()
}

// logOf reads the whole log of a candidate.
func logOf(text string) *logs.Log {
	var p logs.Parser
	for line := range strings.Lines(text) {
		p.Line(line)
	}
	return p.Log()
}

// attemptsOf reads the log of a round.
func attemptsOf(t *testing.T, text string) []Attempt {
	t.Helper()
	list, err := Attempts(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
