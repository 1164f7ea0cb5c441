//go:build gpu

package gpu

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// engine reports whether an interpreter has Transformer Engine.
func engine(python string) bool {
	return exec.Command(python, "-c", "import transformer_engine.pytorch").Run() == nil
}

// compiler reports whether torch would find a CUDA compiler.
func compiler() bool {
	if _, err := exec.LookPath("nvcc"); err == nil {
		return true
	}
	for _, folder := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if _, err := os.Stat(filepath.Join(folder, "bin", "nvcc")); folder != "" && err == nil {
			return true
		}
	}
	return false
}

// station is a framework that can run on this machine's GPU.
type station struct {
	machine Machine
	release string // of the framework
	runner  Runner
	lacks   string // why something else runs than ndc emits by itself: nothing is kept then
	options string // lines of the backend block for that
}

// prepare finds GPU and framework, or skips with the reason.
func prepare(t *testing.T, kind string) *station {
	t.Helper()
	if _, err := Driver(); err != nil { // before anything is installed
		t.Skip("skipped: ", err)
	}
	python, release, err := Interpreter(kind)
	if err != nil {
		t.Skip("skipped: ", err)
	}
	machine, err := Find(python)
	if err != nil {
		t.Skip("skipped: ", err)
	}
	if !machine.Idle {
		t.Skip("skipped: other processes use the GPU")
	}
	drivers, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	s := &station{machine: machine, release: release,
		runner: Runner{Python: python, Drivers: drivers, Megatron: filepath.Join(drivers, "megatron", "wheel"), Patience: 20 * time.Minute}}
	if checkouts := os.Getenv("NDC_MEGATRON_DIR"); checkouts != "" {
		s.runner.Megatron = filepath.Join(checkouts, release)
	}
	switch {
	case kind == "megatron" && !engine(python):
		s.lacks, s.options = "Transformer Engine is not installed", PlainAttention
		s.runner.More = WithoutEngine
	case kind == "deepspeed" && !compiler():
		s.lacks, s.options = "no CUDA compiler builds DeepSpeed's Adam, torch's runs", `extra_args = ["optimizer.params.torch_adam=true"]`
	}
	return s
}

// measure runs a case and prints what was predicted beside what was measured.
func (s *station) measure(t *testing.T, c *Case) (*Prediction, *Measurement) {
	t.Helper()
	if c.Only && c.Version != s.release {
		t.Skipf("skipped: %s %s is here, only %s does this", c.Framework, s.release, c.Version)
	}
	c.Version, c.Options = s.release, s.options
	p, err := Predict(c, &s.machine)
	if err != nil {
		t.Fatal(err)
	}
	r := s.runner
	if folder := os.Getenv("NDC_KERNELS"); folder != "" {
		r.Kernels = filepath.Join(folder, c.ID(&s.machine, p.Plan.Layout)+".json")
	}
	v, err := r.Run(p.Launch, p.Plan.Memory.Peak.Rank, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	peak := &p.Plan.Memory.Peak
	t.Logf("%s", c.ID(&s.machine, p.Plan.Layout))
	t.Logf("  feasible: predicted %v, ran %v", p.Feasible, !v.OutOfMemory)
	if !v.OutOfMemory {
		beside(t, "GiB allocated", gib(int64(peak.AllocatedBytes)), gib(v.Allocated))
		beside(t, "GiB reserved ", gib(int64(peak.ReservedBytes)), gib(v.Reserved))
		beside(t, "GiB on device", gib(int64(peak.DeviceBytes)), gib(v.Device))
	}
	if c.GPUs > 1 {
		v.StepSeconds = 0 // collectives took no time
	} else if v.StepSeconds > 0 {
		beside(t, "s a step     ", float64(p.Plan.Time.StepSeconds), v.StepSeconds)
		t.Logf("  the steps: %.4f", v.Steps)
	}
	s.keep(t, c, p, v)
	return p, v
}

func beside(t *testing.T, what string, predicted, measured float64) {
	t.Helper()
	t.Logf("  %s: predicted %8.3f, measured %8.3f (%+.1f %%)", what, predicted, measured, 100*(predicted/measured-1))
}

// keep appends the row, unless other software ran than was planned.
func (s *station) keep(t *testing.T, c *Case, p *Prediction, v *Measurement) {
	t.Helper()
	if s.lacks != "" {
		t.Logf("  not kept: %s", s.lacks)
		return
	}
	folder := os.Getenv("NDC_MEASURED")
	if folder == "" {
		folder = "../../testdata/measured"
	}
	n, err := Keep(folder, &s.machine, c, Row(c, p, &s.machine, v))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("  rows appended: %d", n)
}

// TestSteps trains small jobs.
func TestSteps(t *testing.T) {
	for _, c := range SmallCases() {
		t.Run(c.Title(), func(t *testing.T) {
			s := prepare(t, c.Framework)
			p, v := s.measure(t, &c)
			if p.Feasible && v.OutOfMemory {
				t.Error("ran out of memory where ndc says that it fits")
			}
			if !v.OutOfMemory && (v.StepSeconds == 0 || v.Allocated == 0) {
				t.Errorf("nothing was measured: %+v", v)
			}
		})
	}
}

// TestRanks runs single ranks of large layouts.
func TestRanks(t *testing.T) {
	for _, c := range RankCases() {
		t.Run(c.Title(), func(t *testing.T) {
			s := prepare(t, c.Framework)
			if c.Framework == "megatron" && s.lacks != "" {
				t.Skip("skipped: ", s.lacks, "; plain layers have no sequence parallelism")
			}
			if p, v := s.measure(t, &c); p.Feasible && v.OutOfMemory {
				t.Error("ran out of memory where ndc says that it fits")
			}
		})
	}
}

// TestCrowded takes memory from a run until it fails, under both settings of the
// allocator, and prints by how much its steps slow on the way. Nothing is kept:
// the figures are for near_limit in compiler/memory/data/overheads.jsonl.
func TestCrowded(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			s := prepare(t, kind)
			c, shares := crowded(kind)
			c.Version, c.Options = s.release, s.options
			p, err := Predict(&c, &s.machine)
			if err != nil {
				t.Fatal(err)
			}
			for _, expandable := range []bool{true, false} {
				run := func(most int64) *Measurement {
					r := s.runner
					r.Crowd = &Crowd{Cap: most, Expandable: expandable}
					v, err := r.Run(p.Launch, p.Plan.Memory.Peak.Rank, t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				free := run(0)
				if free.OutOfMemory || free.StepSeconds == 0 {
					t.Fatalf("nothing was measured without a limit: %+v", free)
				}
				t.Logf("%s, expandable segments %v: %.3f s a step, %.2f GiB reserved", s.machine.Slug(), expandable, free.StepSeconds, gib(free.Reserved))
				for _, share := range shares {
					v := run(int64(float64(free.Reserved) / share))
					if v.OutOfMemory {
						t.Logf("  %.2f of what is left: out of memory", share)
						break
					}
					t.Logf("  %.2f of what is left: %.2f times as long, %.2f GiB reserved", share, v.StepSeconds/free.StepSeconds, gib(v.Reserved))
				}
			}
		})
	}
}

// TestBoundary adds layers until memory runs out, and compares with the
// largest number that ndc calls feasible.
func TestBoundary(t *testing.T) {
	for _, kind := range []string{"torchtitan", "deepspeed"} {
		t.Run(kind, func(t *testing.T) {
			s := prepare(t, kind)
			predicted, err := largest(1, 64, func(layers int) (bool, error) {
				c := boundary(kind, s.release, layers)
				p, err := Predict(&c, &s.machine)
				return err == nil && p.Feasible, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			reach := max(4, predicted/3)
			measured, err := largest(max(1, predicted-reach), predicted+reach, func(layers int) (bool, error) {
				c := boundary(kind, s.release, layers)
				_, v := s.measure(t, &c)
				return !v.OutOfMemory, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: ndc says that %d layers fit, %d did", kind, predicted, measured)
			if d := math.Abs(float64(predicted - measured)); d > max(1, 0.1*float64(measured)) {
				t.Errorf("the boundary is off by %g layers", d)
			}
		})
	}
}
