//go:build slurm

package slurm

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/integration/environment"
)

// trainer is a framework that trains the job of testdata/training.hcl over
// two nodes with two ranks each.
type trainer struct {
	framework
	backend, name string
	environment   map[string]string // what a CPU asks for
	variables     []string          // of the job, beside those
	step          *regexp.Regexp    // finds number and digits of a step in a log
	limit         string            // a time limit
	window        time.Duration     // what it leaves after the first step, at most
	says          string            // what it logs when its time is up
	adapt         func(*testing.T, *scenario)
}

const steps = 40

func deepSpeedTrainer(t *testing.T) trainer {
	kernels, err := os.MkdirTemp(here.Folder, "kernels-")
	must(t, err)
	if here.DeepSpeed.Missing == "" {
		_, err = environment.Kernels(here.DeepSpeed.Python, kernels)
		must(t, err)
	}
	return trainer{
		framework: here.DeepSpeed, backend: "deepspeed", name: "DeepSpeed " + deepSpeed,
		environment: map[string]string{"TRAINER_PYTHON": here.DeepSpeed.Python, "DS_ACCELERATOR": "cpu", "TORCH_EXTENSIONS_DIR": kernels},
		step:        regexp.MustCompile(`step (\d+)/\d+ loss (\S+) gradient norm (\S+)`),
		limit:       "00:01:40", window: 41 * time.Second, says: "the time limit is near", // of which imports and the model take a part
		adapt: func(*testing.T, *scenario) {},
	}
}

// megatronTrainer has one pipeline stage on each node, and the distributed
// optimizer between the ranks of a node: Megatron-FSDP cannot save over gloo.
func megatronTrainer(t *testing.T) trainer {
	folder, err := filepath.Abs("../megatron")
	must(t, err)
	return trainer{
		framework: here.Megatron, backend: "megatron", name: "Megatron-LM " + megatron,
		environment: map[string]string{"TRAINER_PYTHON": here.Megatron.Python, "TRAINER_ENTRY": filepath.Join(folder, "on_cpu.py"), "MEGATRON_PATH": filepath.Join(folder, "wheel")},
		variables:   []string{"format=megatron", "pipeline_parallel=2", "zero_stages=[1]"},
		step:        regexp.MustCompile(`step (\d+) loss (\S+) gradient norm (\S+)`),
		limit:       "00:02:00", window: 62 * time.Second, says: "exiting program after", // it counts minutes
		adapt: func(*testing.T, *scenario) {},
	}
}

func torchTitanTrainer(t *testing.T) trainer {
	entry, err := filepath.Abs("../torchtitan/train.py")
	must(t, err)
	return trainer{
		framework: here.TorchTitan, backend: "torchtitan", name: "TorchTitan " + torchTitan,
		environment: map[string]string{"TRAINER_PYTHON": here.TorchTitan.Python, "TRAINER_ENTRY": entry},
		step:        regexp.MustCompile(`step: +(\d+)  loss: +(\S+)  grad_norm: +(\S+)`),
		limit:       "00:01:01", window: 43 * time.Second, says: "the time limit is near",
		adapt: lookOften,
	}
}

// lookOften lets TorchTitan look at the clock every ten steps. The plan takes
// 100 steps for ten seconds, as its GPUs would; a CPU trains them in a minute.
func lookOften(t *testing.T, s *scenario) {
	path := filepath.Join(s.emitted, "ndc_job.py")
	content, err := os.ReadFile(path)
	must(t, err)
	changed := regexp.MustCompile(`check_every=\d+`).ReplaceAll(content, []byte("check_every=10"))
	must(t, os.WriteFile(path, changed, 0o644))
	s.edited = true
}

// prepare makes the folder of a scenario, with the training job for a framework.
func (f trainer) prepare(t *testing.T, c *cluster, limit, chain string) *scenario {
	t.Helper()
	s := prepare(t, c, f.name+" on CPU", "training", f.backend)
	f.build(t, s, limit, chain)
	s.program(t, "torchrun", "torchrun-cpu")
	s.program(t, "nvidia-smi", "nvidia-smi")
	s.write(t, "counting.bin", string(counting()), 0o644)
	s.write(t, "counting.idx", string(index()), 0o644)
	return s
}

// build writes the job's files, or replaces them.
func (f trainer) build(t *testing.T, s *scenario, limit, chain string) {
	t.Helper()
	s.build(t, f.settings(limit, chain)...)
	f.adapt(t, s)
}

// settings are the job's variables.
func (f trainer) settings(limit, chain string) []string {
	var environment []string
	for name, value := range f.environment {
		environment = append(environment, fmt.Sprintf("%s = %q", name, value))
	}
	return append(slices.Clip(f.variables), "time="+limit, "chain="+chain, "environment={"+strings.Join(environment, ", ")+"}")
}

const tokens = 100_000

// counting is a corpus that a model learns in a few steps: ids that count up.
func counting() []byte {
	var b []byte
	for i := range tokens {
		b = binary.LittleEndian.AppendUint16(b, uint16(1+i%511))
	}
	return b
}

// index makes of the corpus one document in Megatron-LM's format.
func index() []byte { return documentIndex(tokens, 1) }

// spoken is what torchrun names a rank by, at the beginning of a line, and again where it
// read one whose end was not written yet.
var spoken = regexp.MustCompile(`\[default\d+\]:`)

// digits are the printed loss and gradient norm of every step. A step that was
// trained twice must give the same digits.
func (f trainer) digits(t *testing.T, s *scenario) map[int]string {
	t.Helper()
	found := map[int]string{}
	for _, m := range f.step.FindAllStringSubmatch(spoken.ReplaceAllString(s.log(), "\n"), -1) {
		n, _ := strconv.Atoi(m[1])
		text := m[2] + " " + m[3]
		if before, twice := found[n]; twice && before != text {
			t.Errorf("step %d gave %s, and then %s", n, before, text)
		}
		found[n] = text
	}
	return found
}

// reached is the newest step in the log of a submission.
func (f trainer) reached(s *scenario, id string) int {
	newest := 0
	for _, m := range f.step.FindAllStringSubmatch(s.logOf(id), -1) {
		newest = max(newest, number(m[1]))
	}
	return newest
}

// skip ends the test where the framework cannot be had.
func (f trainer) skip(t *testing.T) {
	t.Helper()
	if f.Missing != "" {
		record(t, "jobs run, "+f.name+" on CPU", 0, 0, f.Missing)
		t.Skip("skipped: ", f.Missing)
	}
}

// whole trains without a stop.
func (f trainer) whole(t *testing.T, c *cluster) map[int]string {
	t.Helper()
	var digits map[int]string
	t.Run("WithoutAStop", func(t *testing.T) {
		s := f.prepare(t, c, "00:30:00", "1")
		s.submit(t, "")
		s.finish(t)
		s.expectStates(t, "COMPLETED")
		digits = f.digits(t, s)
		if len(digits) != steps {
			t.Fatalf("%d steps were trained, want %d:\n%s", len(digits), steps, s.log())
		}
		if first, last := loss(t, digits[1]), loss(t, digits[steps]); last > first-1 {
			t.Errorf("the loss went from %g to %g", first, last)
		}
		if s.saved() != fmt.Sprint(steps) {
			t.Errorf("the newest checkpoint is %q, want step %d", s.saved(), steps)
		}
		t.Logf("loss and gradient norm: %s, … %s", digits[1], digits[steps])
	})
	return digits
}

func loss(t *testing.T, digits string) float64 {
	t.Helper()
	text, _, _ := strings.Cut(digits, " ")
	v, err := strconv.ParseFloat(text, 64)
	must(t, err)
	return v
}

var checkpointFolder = regexp.MustCompile(`(?:step-|iter_0*)(\d+)$`)

// saved is the newest step on disk.
func (s *scenario) saved() string {
	found, _ := filepath.Glob(filepath.Join(s.folder, "checkpoints", "*", "*"))
	newest := ""
	for _, path := range found {
		if m := checkpointFolder.FindStringSubmatch(path); m != nil && number(m[1]) > number(newest) {
			newest = m[1]
		}
	}
	return newest
}

// same compares with the run without a stop.
func same(t *testing.T, got, want map[int]string) {
	t.Helper()
	for n := 1; n <= steps; n++ {
		if got[n] != want[n] {
			t.Errorf("step %d gave %q, without a stop %q", n, got[n], want[n])
		}
	}
}

// untilLimit submits a chain whose first link runs into its time limit and
// saves. The job is suspended while its time passes, so that no machine is too
// fast; the chain's own copy of the files is replaced by one with a limit that
// the next links do not reach.
func (f trainer) untilLimit(t *testing.T, s *scenario) {
	t.Helper()
	s.submit(t, "")
	first := s.jobs()[0].id
	s.await(t, "a step of the first link", patience, func() bool { return f.reached(s, first) > 0 })
	_, _ = s.sh("scontrol suspend " + first) // refused where its time is up already
	f.build(t, s, "00:30:00", "until_done")
	s.do(t, "cd %q && cp -r $(ls -A | grep -v -e '^runs$' -e '^logs$') runs/%s/", s.emitted, first)
	time.Sleep(f.window)
	_, _ = s.sh("scontrol resume " + first)
	s.await(t, "the first link to end", patience, func() bool { return strings.HasPrefix(s.states(), "COMPLETED") })
	n := f.reached(s, first)
	if n >= steps || s.saved() != fmt.Sprint(n) {
		t.Fatalf("the first link trained %d of %d steps, and saved %q", n, steps, s.saved())
	}
	t.Logf("stopped by the limit after step %d", n)
}

// survives demands that a chain in which the first link runs into its time
// limit and a rank of the second is killed repeats the digits of a run without a
// stop.
func (f trainer) survives(t *testing.T, c *cluster) {
	f.skip(t)
	t.Run("Terminated", func(t *testing.T) { f.terminated(t, c) })
	want := f.whole(t, c)
	t.Run("TimeLimitThenDeadRank", func(t *testing.T) {
		s := f.prepare(t, c, f.limit, "until_done")
		f.untilLimit(t, s)
		s.expect(t, f.says)
		f.killRank(t, s, s.jobs()[1].id, 3)
		s.finish(t)
		s.expectStates(t, "COMPLETED FAILED COMPLETED CANCELLED")
		s.expect(t, fmt.Sprintf("the chain ends at step %d", steps))
		if named := firstFailed.FindAllString(s.log(), -1); len(named) != 1 {
			t.Errorf("rank 3 was killed, and the logs name %q:\n%s", named, s.log())
		}
		same(t, f.digits(t, s), want)
	})
}

// terminated sends SIGTERM to the processes of the step, as a preemption does:
// the ranks save where they are and end, and torchrun lets them.
func (f trainer) terminated(t *testing.T, c *cluster) {
	s := f.prepare(t, c, "00:30:00", "1")
	s.submit(t, "")
	id := s.jobs()[0].id
	s.await(t, "a step", patience, func() bool { return f.reached(s, id) > 0 })
	s.do(t, "scancel --signal=TERM %s", id)
	s.finish(t)
	s.expectStates(t, "COMPLETED")
	if n := f.reached(s, id); n >= steps || s.saved() != fmt.Sprint(n) {
		t.Errorf("%d of %d steps were trained, and %q was saved:\n%s", n, steps, s.saved(), s.log())
	}
}

// firstFailed names the rank that was killed, in the log of its job.
var firstFailed = regexp.MustCompile(`(?m)^ndc: rank 3 on n\d+ failed first, at [-0-9]+ [:0-9]+: ended with signal 9$`)

// killRank kills a rank of a job between two steps; the others, which wait for
// it, are taken down at once.
func (f trainer) killRank(t *testing.T, s *scenario, id string, rank int) {
	t.Helper()
	var ranks map[int]string
	s.await(t, "the ranks to start", patience, func() bool { ranks = s.ranks(id); return len(ranks) == 4 })
	for end := time.Now().Add(patience); f.reached(s, id) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("job %s trains nothing:\n%s", id, s.logOf(id))
		}
	}
	s.do(t, "kill -KILL %s", ranks[rank])
	killed := time.Now()
	s.await(t, "the job to end", 2*time.Minute, func() bool { return strings.Contains(s.states(), "FAILED") })
	t.Logf("the job had ended %s after a rank was killed", time.Since(killed).Round(time.Second))
	s.await(t, "the other ranks to end", time.Minute, func() bool {
		for _, process := range ranks {
			if _, alive := rankOf(process, id); alive {
				return false
			}
		}
		return true
	})
}

// ranks are the processes of a job's ranks by their number. What a rank starts
// has its environment, and is none of them: the server that Megatron-LM forks to
// save outlives a rank that is killed meanwhile, until a cgroup ends it, which
// this Slurm has not.
func (s *scenario) ranks(id string) map[int]string {
	found := map[int]string{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		process := filepath.Base(folder)
		if rank, is := rankOf(process, id); is {
			if _, started := rankOf(parent(process), id); !started {
				found[rank] = process
			}
		}
	}
	return found
}

// rankOf is the rank in the environment of a process of a job.
func rankOf(process, id string) (rank int, is bool) {
	b, _ := os.ReadFile(filepath.Join("/proc", process, "environ"))
	variables := strings.Split(string(b), "\x00")
	if !slices.Contains(variables, "SLURM_JOB_ID="+id) {
		return 0, false
	}
	for _, v := range variables {
		if text, has := strings.CutPrefix(v, "RANK="); has {
			return number(text), true
		}
	}
	return 0, false
}

// parent is the process that started another.
func parent(process string) string {
	b, _ := os.ReadFile(filepath.Join("/proc", process, "status"))
	_, after, _ := strings.Cut(string(b), "\nPPid:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}
