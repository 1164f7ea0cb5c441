//go:build conformance

package megatron

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// run is a job that is trained on CPU ranks: one model of testdata/training in
// one layout.
type run struct {
	name   string // MODEL/LAYOUT
	gpus   int
	layout string   // lines of constraints.layout
	bf16   bool     // else fp32
	random bool     // weights as Megatron-LM draws them, else those that MODEL/seed saved
	saves  string   // folder and
	every  int      // steps between checkpoints
	async  bool     // which a process of its own writes
	last   bool     // and of which the newest alone is kept
	args   string   // backend.extra_args
	edits  []string // pairs of what stands in job.hcl and what is said instead
	since  string   // the first release that can
	steps  [2]int   // the first and last step that it takes, where it repeats nothing
	same   string   // the run whose numbers this one repeats, to
	off    tolerance
	cheap  bool // trained in CI
}

// tolerance is how far apart numbers of the same step may be, in the first
// three steps and in those after them where late is set.
type tolerance struct{ loss, norm, late float64 }

// What was seen between layouts is 1.1e-5 of a loss and 1.4e-5 of a norm in
// fp32, and 3.2e-4 and 1.2e-3 in bf16; a run that resumes repeats every digit.
var (
	exact   = tolerance{}
	rounded = tolerance{loss: 5e-5, norm: 5e-5}
	// A router's choice and Adam's division by small gradients enlarge
	// rounding: 8e-6 in the first norm became 1.5e-4 by the sixth step. A wrong
	// reduction shows in the first.
	routed = tolerance{loss: 2e-5, norm: 2e-5, late: 4e-4}
	coarse = tolerance{loss: 1e-3, norm: 5e-3}
)

// runs are trained in this order. All layouts of a model start from the
// checkpoint of its seed, which the distributed checkpoint format spreads over
// any layout: drawn weights differ between layouts, as tensor- and
// pipeline-parallel ranks draw from streams of their own. Megatron-FSDP cannot
// read that format, but draws as a single rank does.
var runs = []run{
	{name: "dense/seed", gpus: 1, random: true, saves: "dense-seed", every: 6, cheap: true},
	{name: "dense/single", gpus: 1, cheap: true},
	{name: "dense/data", gpus: 2, layout: "zero_stage = 0", same: "dense/single", off: rounded},
	{name: "dense/distributed-optimizer", gpus: 2, layout: "zero_stage = 1", same: "dense/single", off: rounded, cheap: true},
	{name: "dense/replicated", gpus: 4, layout: "zero_stage = 1\n data_parallel_replicate = 2\n data_parallel_shard = 2", same: "dense/single", off: rounded},
	{name: "dense/tensor", gpus: 2, layout: "tensor_parallel = 2\n sequence_parallel = false", same: "dense/single", off: rounded},
	{name: "dense/sequence", gpus: 2, layout: "tensor_parallel = 2\n sequence_parallel = true", same: "dense/single", off: rounded},
	{name: "dense/pipeline-uneven", gpus: 2, layout: "pipeline_parallel = 2\n stage_layers = [3, 1]", same: "dense/single", off: rounded},
	{name: "dense/pipeline-virtual", gpus: 2, layout: "pipeline_parallel = 2\n virtual_pipeline = 2", same: "dense/single", off: rounded, cheap: true},
	{name: "dense/tensor-pipeline", gpus: 4, layout: "tensor_parallel = 2\n sequence_parallel = true\n pipeline_parallel = 2\n recompute = \"full\"", same: "dense/single", off: rounded, cheap: true},
	{name: "dense/fsdp-gradients", gpus: 2, layout: "zero_stage = 2", random: true, same: "dense/seed", off: rounded},
	{name: "dense/fsdp-parameters", gpus: 2, layout: "zero_stage = 3", random: true, same: "dense/seed", off: rounded, cheap: true},

	{name: "dense/bf16", gpus: 1, bf16: true, cheap: true},
	{name: "dense/bf16-distributed-optimizer", gpus: 2, bf16: true, layout: "zero_stage = 1", same: "dense/bf16", off: coarse},
	{name: "dense/bf16-context", gpus: 2, bf16: true, layout: "context_parallel = 2", same: "dense/bf16", off: coarse, cheap: true},
	{name: "dense/bf16-context-tensor", gpus: 4, bf16: true, layout: "context_parallel = 2\n tensor_parallel = 2", same: "dense/bf16", off: coarse},

	{name: "moe/seed", gpus: 1, random: true, saves: "moe-seed", every: 6},
	{name: "moe/single", gpus: 1},
	{name: "moe/expert", gpus: 2, layout: "expert_parallel = 2", same: "moe/single", off: rounded},
	{name: "moe/expert-tensor", gpus: 2, layout: "tensor_parallel = 2\n expert_tensor_parallel = 2", same: "moe/single", off: rounded},
	{name: "moe/tensor", gpus: 2, layout: "tensor_parallel = 2\n expert_parallel = 1\n expert_tensor_parallel = 1", same: "moe/single", off: rounded, since: "0.19.0"},
	{name: "moe/expert-spread-and-split", gpus: 4, layout: "expert_parallel = 2\n tensor_parallel = 2\n expert_tensor_parallel = 2", same: "moe/single", off: rounded},
	{name: "moe/expert-tensor-folded", gpus: 4, layout: "expert_parallel = 2\n tensor_parallel = 2\n expert_tensor_parallel = 1", same: "moe/single", off: rounded},

	{name: "mla/seed", gpus: 1, random: true, saves: "mla-seed", every: 6, cheap: true},
	{name: "mla/single", gpus: 1, cheap: true},
	{name: "mla/pipeline-virtual", gpus: 2, layout: "pipeline_parallel = 2\n virtual_pipeline = 2", same: "mla/single", off: routed},
	{name: "mla/all", gpus: 4, layout: "tensor_parallel = 2\n expert_parallel = 2\n expert_tensor_parallel = 1\n pipeline_parallel = 2\n stage_layers = [3, 1]", same: "mla/single", off: routed, cheap: true},
	{name: "mla/bf16", gpus: 1, bf16: true},
	{name: "mla/bf16-context", gpus: 2, bf16: true, layout: "context_parallel = 2", same: "mla/bf16", off: coarse},

	{name: "dense/whole", gpus: 2, bf16: true, random: true, layout: "zero_stage = 1", saves: "whole", every: 3, last: true, cheap: true},
	{name: "dense/stopped", gpus: 2, bf16: true, random: true, layout: "zero_stage = 1", saves: "parts", every: 3, last: true, args: `"--exit-interval=3"`, same: "dense/whole", off: exact, cheap: true},
	{name: "dense/resumed", gpus: 2, bf16: true, random: true, layout: "zero_stage = 1", saves: "parts", every: 3, last: true, same: "dense/whole", off: exact, cheap: true},
	{name: "dense/ramp", gpus: 2, random: true, layout: "pipeline_parallel = 2\n virtual_pipeline = 2",
		edits: []string{"# WEIGHTS", "batch_ramp {\n start = 4\n increment = 4\n sequences = 12\n }\n# WEIGHTS"}, steps: [2]int{1, 6}, cheap: true},
	{name: "dense/warm-up", gpus: 1, random: true, edits: []string{"warmup_steps          = 2", "warmup_steps          = 6"}, steps: [2]int{1, 6}, cheap: true},
	{name: "dense/prolonged", gpus: 2, bf16: true, random: true, layout: "zero_stage = 1", saves: "parts", every: 3, last: true,
		edits: []string{"steps             = 6", "steps             = 8"}, steps: [2]int{7, 8}, since: "0.19.0", cheap: true},
	{name: "mla/whole", gpus: 4, bf16: true, random: true, layout: "pipeline_parallel = 2\n expert_parallel = 2", saves: "mla-whole", every: 3},
	{name: "mla/stopped", gpus: 4, bf16: true, random: true, layout: "pipeline_parallel = 2\n expert_parallel = 2", saves: "mla-parts", every: 3, args: `"--exit-interval=3"`, same: "mla/whole", off: exact},
	{name: "mla/resumed", gpus: 4, bf16: true, random: true, layout: "pipeline_parallel = 2\n expert_parallel = 2", saves: "mla-parts", every: 3, same: "mla/whole", off: exact},
}

// notHere is what these runs leave out, for the summary.
const notHere = "kernels of Transformer Engine, fp8, CUDA graphs, DeepEP: on a GPU only; checkpoints of Megatron-FSDP hang over gloo; " +
	"rings and all-to-all of context parallelism: keys and values are gathered instead"

// TestTraining trains what `ndc build` writes for small jobs, with the real
// Megatron-LM on CPU ranks, and demands the same losses and gradient norms of
// all layouts. NDC_CONFORMANCE_CHEAP leaves some layouts out.
func TestTraining(t *testing.T) {
	chosen := runs
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		chosen = slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return !r.cheap })
	}
	h, err := New(".")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ndc")
	command(t, "go", "build", "-o", program, "../../cmd/ndc")
	for _, release := range environment.MegatronWheels {
		t.Run(release, func(t *testing.T) {
			line := summary.Line{Framework: "megatron", Version: "core_v" + release, What: "small jobs, trained on CPU", Skipped: notHere}
			chosen := slices.DeleteFunc(slices.Clone(chosen), func(r run) bool { return release < r.since })
			python, _, err := h.Source(line.Version)
			if err != nil {
				line.Skipped = err.Error()
			} else {
				line.Accepted, line.Rejected = train(t, h, program, python, line.Version, chosen)
			}
			if err := summary.Add(line); err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Skip("skipped: ", err)
			}
		})
	}
}

// train builds and trains the runs for one version, and counts those that are
// as they should be.
func train(t *testing.T, h *Harness, program, python, version string, chosen []run) (accepted, rejected int) {
	scratch := t.TempDir()
	command(t, python, "../torchtitan/make_data.py", filepath.Join(scratch, "data"), "512")
	var launches []Launch
	for _, r := range chosen {
		launches = append(launches, r.build(t, program, version, scratch))
	}
	answers, err := h.Train(launches, filepath.Join(scratch, "ranks"))
	if err != nil {
		t.Error(err)
	}
	trained := map[string]Trained{}
	for _, a := range answers {
		trained[a.ID] = a
	}
	for _, r := range chosen {
		if t.Run(r.name, func(t *testing.T) { r.check(t, trained); r.kept(t, scratch) }) {
			accepted++
		} else {
			rejected++
		}
	}
	return accepted, rejected
}

// build writes the job and hands it to the program.
func (r run) build(t *testing.T, program, version, scratch string) Launch {
	t.Helper()
	model, _, _ := strings.Cut(r.name, "/")
	folder, precision := filepath.Join(scratch, "jobs", r.name), "fp32"
	if r.bf16 {
		precision = "bf16"
	}
	weights := fmt.Sprintf("start {\n from = \"checkpoint\"\n path = %q\n reset_optimizer = true\n reset_schedule = true\n reset_data = true\n}\n",
		filepath.Join(scratch, model+"-seed", "megatron"))
	if r.random {
		weights = ""
	}
	if r.saves != "" {
		weights += fmt.Sprintf("checkpoint {\n path = %q\n interval = %d\n async = %t\n keep_last = %d\n}\n", filepath.Join(scratch, r.saves), r.every, r.async, map[bool]int{true: 1}[r.last])
	}
	source := read(t, "testdata/training/job.hcl")
	for i := 0; i < len(r.edits); i += 2 {
		if !bytes.Contains(source, []byte(r.edits[i])) {
			t.Fatalf("%s: job.hcl does not say %q", r.name, r.edits[i])
		}
		source = bytes.Replace(source, []byte(r.edits[i]), []byte(r.edits[i+1]), 1)
	}
	source = bytes.Replace(source, []byte("# LAYOUT"), []byte(r.layout), 1)
	source = bytes.Replace(source, []byte("# WEIGHTS"), []byte(weights), 1)
	write(t, filepath.Join(folder, "job.hcl"), source)
	write(t, filepath.Join(folder, "model.hcl"), read(t, "testdata/training/"+model+".hcl"))
	out := filepath.Join(folder, "out")
	command(t, program, "build", folder, "-o", out, "--var", "data="+filepath.Join(scratch, "data"), "--var", "version="+version,
		"--var", fmt.Sprintf("gpus=%d", r.gpus), "--var", "precision="+precision, "--var", "extra_args=["+r.args+"]")
	l := Launch{Name: r.name, Version: version, Capability: "9.0", Nodes: 1, PerNode: r.gpus, Files: map[string][]byte{}}
	for _, name := range []string{"launch.sh", "environment.sh"} {
		l.Files[name] = read(t, filepath.Join(out, "small", "megatron", name))
	}
	return l
}

// check holds a run against the one that it repeats, or demands that it learns.
func (r run) check(t *testing.T, trained map[string]Trained) {
	got := trained[r.name]
	t.Logf("%.1f s: %v", got.Seconds, got.Steps)
	if got.Error != "" || len(got.Steps) == 0 {
		t.Fatal(cmp.Or(got.Error, "no step"))
	}
	if r.steps[0] > 0 {
		if first, last := got.Steps[0].Step, got.Steps[len(got.Steps)-1].Step; first != r.steps[0] || last != r.steps[1] {
			t.Errorf("steps %d to %d, want %v", first, last, r.steps)
		}
		return
	}
	if r.same == "" {
		if n := len(got.Steps); n != 6 || got.Steps[n-1].Loss > got.Steps[0].Loss-0.3 {
			t.Errorf("want six steps whose loss falls")
		}
		return
	}
	want := trained[r.same].Steps
	first, last := 1, len(want)
	switch { // a run that stops or resumes has its part of the steps
	case r.args != "":
		last = r.every
	case r.off == exact:
		first = r.every + 1
	}
	if len(want) == 0 || len(got.Steps) != last-first+1 || got.Steps[0].Step != first {
		t.Fatalf("steps %d and on, want %d to %d", got.Steps[0].Step, first, last)
	}
	for i, s := range got.Steps {
		w, off := want[first-1+i], r.off
		if s.Step > 3 && off.late > 0 {
			off.loss, off.norm = off.late, off.late
		}
		if !(math.Abs(s.Loss-w.Loss) <= off.loss && math.Abs(s.Norm-w.Norm) <= off.norm) {
			t.Errorf("step %d: loss %g and norm %g, %s has %g and %g", s.Step, s.Loss, s.Norm, r.same, w.Loss, w.Norm)
		}
	}
}

// kept demands one checkpoint where the newest alone is kept: those of the steps and of
// the runs before it in the same folder are gone.
func (r run) kept(t *testing.T, scratch string) {
	if !r.last {
		return
	}
	folders, err := filepath.Glob(filepath.Join(scratch, r.saves, "megatron", "iter_*"))
	if err != nil || len(folders) != 1 {
		t.Errorf("checkpoints left: %v, %v", folders, err)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
