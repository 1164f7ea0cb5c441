package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// here is a machine as it would be found.
var here = Machine{GPU: "NVIDIA H100 80GB HBM3", Driver: "550.54.15", MemoryMiB: 81559, Catalog: "h100_sxm",
	Torch: "2.11.0+cu128", CUDA: "12.8", TorchMemory: 85_017_493_504, Idle: true}

// TestParseSMI: a machine of one kind of GPU that the catalogue has is known by its name and
// memory; any other is an error.
func TestParseSMI(t *testing.T) {
	for out, want := range map[string]string{
		"NVIDIA H100 80GB HBM3, 550.54.15, 81559, 4\n":                         "h100_sxm",
		"NVIDIA H200, 560.35.05, 143771, 1\nNVIDIA H200, 560.35.05, 143771, 1": "h200",
		"NVIDIA A100-SXM4-40GB, 535.1, 40960, 0":                               "a100_40gb",
		"NVIDIA A100-SXM4-80GB, 535.1, 81920, 70000":                           "a100_80gb",
		"NVIDIA B200, 570.1, 183359, 0":                                        "b200",
		"NVIDIA GB200, 570.1, 189471, 0":                                       "gb200",
		"NVIDIA H100, 550.1, 97871, 0":                                         "h100_96gb_500w",
	} {
		m, err := ParseSMI(out)
		if err != nil || m.Catalog != want {
			t.Errorf("%q: %q, %v", out, m.Catalog, err)
		}
		if m.Idle == strings.Contains(out, "70000") {
			t.Errorf("%q: idle %v", out, m.Idle)
		}
	}
	for _, out := range []string{"", "No devices were found", "NVIDIA GeForce GTX 1080, 535.1, 8192, 0", "NVIDIA H100 PCIe, 550.1, 81559, 0", "NVIDIA H200, 560, many, 0"} {
		if m, err := ParseSMI(out); err == nil {
			t.Errorf("%q is %v", out, m)
		}
	}
}

// TestFind: a machine without a driver says so.
func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find("python3"); err == nil || !strings.Contains(err.Error(), "no NVIDIA GPU") {
		t.Error(err)
	}
}

// TestFindTorch: with a driver, torch decides.
func TestFindTorch(t *testing.T) {
	bin := t.TempDir()
	script(t, filepath.Join(bin, "nvidia-smi"), "#!/bin/sh\necho NVIDIA H200, 560.35.05, 143771, 3\n")
	script(t, filepath.Join(bin, "blind"), `#!/bin/sh
echo '{"torch": "2.11.0", "cuda": "12.8", "available": false, "memory": 0}'`)
	script(t, filepath.Join(bin, "seeing"), `#!/bin/sh
echo '{"torch": "2.11.0+cu128", "cuda": "12.8", "available": true, "memory": 150000000000}'`)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("NDC_CONTAINER", "pytorch:26.01")
	if _, err := Find("blind"); err == nil || !strings.Contains(err.Error(), "sees no GPU") {
		t.Error(err)
	}
	m, err := Find("seeing")
	if err != nil || m.TorchMemory != 150_000_000_000 || m.Container != "NDC_CONTAINER pytorch:26.01" || m.Slug() != "h200_driver560_35_05_torch2_11_0" {
		t.Errorf("%+v %q, %v", m, m.Slug(), err)
	}
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestPredict: every case is planned for the machine, and what does not fit is
// emitted all the same.
func TestPredict(t *testing.T) {
	cases := append(append(SmallCases(), RankCases()...), boundary("torchtitan", "0.3.0", 4))
	for _, kind := range Kinds {
		c, _ := crowded(kind)
		cases = append(cases, c)
	}
	for _, c := range cases {
		p, err := Predict(&c, &here)
		if err != nil {
			t.Errorf("%s: %v", c.Name+" on "+c.Framework, err)
			continue
		}
		if !p.Feasible || p.Launch.World() != c.GPUs || p.Plan.Memory.Peak.AllocatedBytes == 0 || p.Plan.Time.StepSeconds == 0 {
			t.Errorf("%s on %s: feasible %v, %d ranks, %v", c.Name, c.Framework, p.Feasible, p.Launch.World(), p.Plan.Memory.Peak)
		}
	}
	large := boundary("torchtitan", "0.3.0", 24)
	p, err := Predict(&large, &here)
	if err != nil {
		t.Fatal(err)
	}
	if p.Feasible || p.Launch == nil || int64(p.Plan.Memory.Peak.DeviceBytes) < here.TorchMemory {
		t.Errorf("24 layers: feasible %v, %v", p.Feasible, p.Plan.Memory.Peak)
	}
}

// TestRows: a measurement is written once, with its machine, and reads back as
// a row of testdata/measured.
func TestRows(t *testing.T) {
	c := SmallCases()[0]
	p, err := Predict(&c, &here)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	v := Measurement{StepSeconds: 0.25, Allocated: 3 << 30, Reserved: 4 << 30, Device: 5 << 30, When: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	row := Row(&c, p, &here, &v)
	for _, want := range []int{1, 0} {
		if n, err := Keep(folder, &here, &c, row); n != want || err != nil {
			t.Errorf("%d rows, %v; want %d", n, err, want)
		}
	}
	content, err := os.ReadFile(filepath.Join(folder, "gpu_h100_80gb_hbm3_driver550_54_15_torch2_11_0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		ID       string
		Model    struct{ Layers, Hidden, Heads, Vocab int }
		Layout   struct{ TP, PP, MBS, GBS int }
		Measured struct {
			Step float64 `json:"step_time_s"`
			Peak float64 `json:"peak_memory_gb"`
		}
	}
	if err := json.Unmarshal(content, &back); err != nil {
		t.Fatal(err)
	}
	if back.Model.Layers != c.Layers || back.Layout.TP*back.Layout.PP*back.Layout.MBS == 0 || back.Layout.GBS != c.Batch || back.Measured.Step != 0.25 || back.Measured.Peak != 3 {
		t.Errorf("%s", content)
	}
	facts, err := os.ReadFile(filepath.Join(folder, "clusters.jsonl"))
	if err != nil || strings.Count(string(facts), "\n") != 1 || !strings.Contains(string(facts), `"catalog_gpu":"h100_sxm"`) {
		t.Errorf("%s, %v", facts, err)
	}
}

// TestRowsAreUnderstood hands rows whose measurements are the predictions to the
// program that compares: it makes the same jobs of them, so nothing is off.
func TestRowsAreUnderstood(t *testing.T) {
	folder := t.TempDir()
	cases := append(SmallCases(), RankCases()...)
	for _, c := range cases {
		p, err := Predict(&c, &here)
		if err != nil {
			t.Fatal(err)
		}
		peak := &p.Plan.Memory.Peak
		v := Measurement{StepSeconds: float64(p.Plan.Time.StepSeconds), Allocated: int64(peak.AllocatedBytes), Reserved: int64(peak.ReservedBytes), Device: int64(peak.DeviceBytes)}
		if _, err := Keep(folder, &here, &c, Row(&c, p, &here, &v)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "run", "../../tools/accuracy", "-rows", folder, "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for line := range bytes.Lines(out) {
		var r struct {
			ID, Reason string
			Memory     struct {
				Measured  float64 `json:"measured_bytes"`
				Predicted float64 `json:"predicted_bytes"`
			}
			Time struct {
				Measured  float64 `json:"measured_seconds"`
				Predicted float64 `json:"predicted_seconds"`
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		read++
		if !near(r.Memory.Predicted, r.Memory.Measured) || !near(r.Time.Predicted, r.Time.Measured) {
			t.Errorf("%+v", r)
		}
	}
	if read != len(cases) {
		t.Errorf("%d rows of %d", read, len(cases))
	}
}

func near(a, b float64) bool { return a > 0 && math.Abs(a-b) < 0.002*b }

// TestStepSeconds: the time of a step is the median over the later half of those that a log has;
// 0 where it has none.
func TestStepSeconds(t *testing.T) {
	for framework, log := range map[string]string{
		"megatron":   " iteration 1/ 4 | elapsed time per iteration (ms): 9000.0 |\n | elapsed time per iteration (ms): 260.0 |\n | elapsed time per iteration (ms): 250.0 |",
		"deepspeed":  "step 1/4 loss 7.6 gradient norm nan learning rate 1e-4 seconds 9.0 tokens/s/GPU 1\n[default0]:step 2/4 loss 7.6 gradient norm nan learning rate 1e-4 seconds 0.2500 tokens/s/GPU 1\n",
		"torchtitan": "step:  1  loss:  7.6  tps: 10  tflops\nstep:  2  loss:  7.6  memory:  1.00GiB(1%)  tps: 40,000  tflops: 1\n",
	} {
		if got := later(steps(framework, log, 10_000)); got != 0.25 && got != 0.26 {
			t.Errorf("%s: %g", framework, got)
		}
	}
	if got := later(steps("megatron", "nothing", 1)); got != 0 {
		t.Error(got)
	}
}

// TestRun: launch.sh is run as emitted; the stand-in for torchrun starts one
// rank of the planned world, and what the process wrote is read.
func TestRun(t *testing.T) {
	c := RankCases()[0]
	p, err := Predict(&c, &here)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	python := filepath.Join(bin, "python")
	script(t, python, `#!/bin/bash
printf '%s ' "$@" >"$(dirname "$0")/words"
echo "$RANK of $WORLD_SIZE, $PYTHONPATH" >"$(dirname "$0")/environment"
echo '{"allocated": 3, "reserved": 4, "device": 5}' >"$MEASURED"
echo "step:  1  loss:  7.6  tps: 100  tflops: 1"
`)
	r := Runner{Python: python, Drivers: "..", Patience: time.Minute, More: []string{"--a=it's"}}
	v, err := r.Run(p.Launch, 3, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if v.Allocated != 3 || v.Reserved != 4 || v.Device != 5 || v.StepSeconds == 0 || v.OutOfMemory {
		t.Errorf("%+v", v)
	}
	words, _ := os.ReadFile(filepath.Join(bin, "words"))
	if !strings.HasPrefix(string(words), "-m torchtitan.train --module ndc_job") || !strings.HasSuffix(string(words), "--a=it's ") {
		t.Errorf("%s", words)
	}
	environment, _ := os.ReadFile(filepath.Join(bin, "environment"))
	if !strings.HasPrefix(string(environment), "3 of 8, ") || !strings.Contains(string(environment), "gpu/python") {
		t.Errorf("%s", environment)
	}
}

// TestLargest: the largest number that fits is found in four questions of ten numbers, and a run
// that failed for another reason ends the search.
func TestLargest(t *testing.T) {
	for fits := range 12 {
		asked := 0
		got, err := largest(1, 10, func(n int) (bool, error) { asked++; return n <= fits, nil })
		if want := min(fits, 10); got != want || err != nil || asked > 4 {
			t.Errorf("%d after %d questions, %v; want %d", got, asked, err, want)
		}
	}
	if _, err := largest(1, 10, func(int) (bool, error) { return false, os.ErrClosed }); err == nil {
		t.Error("a run that failed is taken as one out of memory")
	}
}

// TestWheels: an interpreter is taken for what it has, and a folder without
// the framework is an error that says so.
func TestWheels(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	script(t, python, "#!/bin/sh\necho 0.1.0\n")
	t.Setenv("NDC_GPU_PYTHON", python)
	if _, _, err := Interpreter("torchtitan"); err == nil || !strings.Contains(err.Error(), "has no torchtitan 0.3.0") {
		t.Error(err)
	}
	for _, release := range []string{"0.2.2", "0.3.0"} {
		script(t, python, "#!/bin/sh\necho "+release+"\n")
		if got, has, err := Interpreter("torchtitan"); got != python || has != release || err != nil {
			t.Error(got, has, err)
		}
	}
	t.Setenv("NDC_GPU_PYTHON", "")
	t.Setenv("NDC_WHEELS", t.TempDir())
	t.Setenv("NDC_CACHE", t.TempDir())
	t.Setenv("NDC_PYTHON", python)
	script(t, python, "#!/bin/sh\necho 2.12.0+cu130\necho /somewhere/site-packages\n")
	if _, _, err := Interpreter("torchtitan"); err == nil || !strings.Contains(err.Error(), "torchtitan-0.2.2-torchao runs on torch 2.11.0 alone") {
		t.Error(err)
	}
	if _, _, err := Interpreter("megatron"); err == nil {
		t.Error("a framework comes out of an empty folder")
	}
}

// TestRead: a program that runs out of memory is a result; one that fails, or that measures
// nothing, is an error.
func TestRead(t *testing.T) {
	c := SmallCases()[0]
	p, err := Predict(&c, &here)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("exit status 1")
	if v, err := read(p.Launch, t.TempDir(), "torch.OutOfMemoryError: CUDA out of memory. Tried", failed); err != nil || !v.OutOfMemory {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := read(p.Launch, t.TempDir(), "ImportError", failed); err == nil || !strings.Contains(err.Error(), "ImportError") {
		t.Error(err)
	}
	if _, err := read(p.Launch, t.TempDir(), "fine", nil); err == nil {
		t.Error("a program that measured nothing is taken as one that did")
	}
}
