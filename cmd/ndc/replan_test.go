package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestKeep keeps each alternative of some examples as if it were locked: the
// plan has that layout and its predicted numbers, names what is preferred, and
// does not gain in the middle of its range. What is chosen anyway stays as it is.
func TestKeep(t *testing.T) {
	for name, objective := range map[string]string{"tiny": "throughput", "hsdp": "throughput", "qwen3-30b-a3b": "throughput", "llama3-8b": "memory"} {
		w, diags := load("../../examples/"+name+"/job.hcl", &inputFlags{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for i := range w.Jobs {
			w.Jobs[i].Constraints.Objective = objective
			c, diags := compile(&request{job: &w.Jobs[i]})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			t.Run(name+"/"+c.job.Backend.Kind, func(t *testing.T) { keepAlternatives(t, c) })
		}
	}
}

func keepAlternatives(t *testing.T, c *compiled) {
	chosen := plan.Choice{Layout: c.plan.Layout, Execution: c.plan.Execution}
	if p, why, err := compiler.Keep(t.Context(), c.job, c.target, c.plan, &chosen, "0.0.9"); p != c.plan || p.Locked != nil || why != "" || err != nil {
		t.Errorf("what is chosen is not kept: %s, %v", why, err)
	}
	for i := range c.plan.Alternatives {
		a := &c.plan.Alternatives[i]
		kept := plan.Choice{Layout: a.Layout, Execution: a.Execution}
		p, why, err := compiler.Keep(t.Context(), c.job, c.target, c.plan, &kept, "0.0.9")
		if err != nil || p == nil {
			t.Fatalf("alternative %d: %s, %v", i, why, err)
		}
		switch {
		case !lock.SameChoice(&kept, &plan.Choice{Layout: p.Layout, Execution: p.Execution}):
			t.Errorf("alternative %d is kept as another layout", i)
		case p.Time.StepSeconds != a.StepSeconds || p.Memory.Peak.DeviceBytes != a.PeakDeviceBytes:
			t.Errorf("alternative %d takes %v and %v, kept %v and %v", i, a.StepSeconds, a.PeakDeviceBytes, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes)
		case p.Locked == nil || p.Locked.SinceVersion != "0.0.9" || p.Locked.WouldChoose.StepSeconds != c.plan.Time.StepSeconds:
			t.Errorf("alternative %d: %+v", i, p.Locked)
		case p.Locked.GainRange[0] >= p.Locked.GainRange[1]:
			t.Errorf("alternative %d gains %v", i, p.Locked.GainRange)
		}
		gain, compared := 1-float64(c.plan.Time.StepSeconds/a.StepSeconds), stepDifference(&compiled{job: c.job, target: c.target, plan: p}, c)
		if c.job.Constraints.Objective == "memory" {
			gain, compared = 1-float64(c.plan.Memory.Peak.DeviceBytes)/float64(a.PeakDeviceBytes), nil
		} else if compared == nil || p.Locked.GainRange != [2]float64{-compared[1], -compared[0]} {
			t.Errorf("alternative %d gains %v, by --compare %v", i, p.Locked.GainRange, compared)
		}
		if gain < p.Locked.GainRange[0] || gain > p.Locked.GainRange[1] {
			t.Errorf("alternative %d gains %v, outside %v", i, gain, p.Locked.GainRange)
		}
		if broken := invariants(p); broken != nil {
			t.Errorf("alternative %d: %q", i, broken)
		}
	}
}

// TestKeepRefuses: what the job, the framework or the memory does not allow is
// not kept, and the reason says which it is.
func TestKeepRefuses(t *testing.T) {
	text, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		replace, by string
		change      func(*plan.Choice)
		why         string
	}{
		{change: func(c *plan.Choice) { c.Layout.TensorParallel = 2 }, why: "tensor_parallel = 2 cannot cut 1 GPU"},
		{change: func(c *plan.Choice) { c.Layout.MicroBatches = 7 }, why: "cannot be cut into equal micro-batches"},
		{change: func(c *plan.Choice) { c.Layout.PipelineSchedule = plan.ScheduleZBV }, why: "pipeline_schedule"},
		{change: func(c *plan.Choice) { c.Layout.StageLayers = []int{5} }, why: "stage_layers"},
		{replace: "  backend \"megatron\" {", by: "  execution {\n    attention = \"unfused\"\n  }\n  backend \"megatron\" {", change: func(*plan.Choice) {}, why: "does not run the job with its attention"},
		{replace: "  backend \"megatron\" {", by: "  constraints {\n    layout {\n      micro_batch_size = 1\n    }\n  }\n  backend \"megatron\" {", change: func(*plan.Choice) {}, why: "constraints.layout does not allow micro_batch_size = 32"},
		{replace: "  backend \"megatron\" {", by: "  constraints {\n    memory_headroom = \"99.9%\"\n  }\n  backend \"megatron\" {", change: func(*plan.Choice) {}, why: "usable"},
	} {
		first := compileText(t, string(text))
		choice := plan.Choice{Layout: first.plan.Layout, Execution: first.plan.Execution}
		c.change(&choice)
		now := compileText(t, strings.Replace(string(text), c.replace, c.by, 1))
		p, why, err := compiler.Keep(t.Context(), now.job, now.target, now.plan, &choice, "0.0.9")
		if p != nil || err != nil || !strings.Contains(why, c.why) {
			t.Errorf("want %q, got %q (%v)", c.why, why, err)
		}
	}
}

// TestKeepOpen: of an option that the lock does not know, whatever is
// recommended is taken.
func TestKeepOpen(t *testing.T) {
	text, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	c := compileText(t, string(text))
	choice := plan.Choice{Layout: c.plan.Layout}
	for i := range option.Options {
		choice.Open = append(choice.Open, option.Options[i].Name)
	}
	choice.Layout.MicroBatchSize, choice.Layout.MicroBatches = 16, 2
	p, why, err := compiler.Keep(t.Context(), c.job, c.target, c.plan, &choice, "0.0.9")
	if p == nil || err != nil || p.Layout.MicroBatchSize != 16 || p.Execution.Attention == "" {
		t.Errorf("%s, %v", why, err)
	}
}

// compileText compiles the job of a text for Megatron-LM.
func compileText(t *testing.T, text string) *compiled {
	t.Helper()
	name := filepath.Join(t.TempDir(), "job.hcl")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	w, diags := load(name, &inputFlags{backend: "megatron"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c, diags := compile(&request{job: &w.Jobs[0]})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c
}

// TestLockDocument holds the example of docs/lock.md to what is printed: a
// choice that an earlier version made, of which another one comes first now.
func TestLockDocument(t *testing.T) {
	const document = "../../docs/lock.md"
	w, diags := load("../../examples/llama3-70b/job.hcl", &inputFlags{backend: "megatron"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c, diags := compile(&request{job: &w.Jobs[0]})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	earlier := c.plan.Alternatives[0].Layout
	f := &lock.File{}
	f.Put(lock.Plan{Job: c.job.Name, Backend: c.job.Backend.Kind, SinceVersion: "0.0.9", Inputs: lock.Inputs(c.job),
		Choice: plan.Choice{Layout: earlier, Execution: c.target.Resolved(c.job, &earlier)}})
	job, err := os.ReadFile("../../examples/llama3-70b/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "job.hcl")
	if err := errors.Join(os.WriteFile(name, job, 0o666), os.WriteFile(filepath.Join(dir, lock.Name), f.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"plan", name, "--backend", "megatron"}, &stdout, &stderr); code != exitOK {
		t.Fatal(stderr.String())
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, entry, _ := strings.Cut(string(f.Bytes()), "\n\n")
	printed, _, found := strings.Cut(stdout.String(), "\nMemory ")
	if !found || !strings.Contains(printed, "\nLocked ") {
		t.Fatalf("nothing is locked:\n%s", stdout.String())
	}
	for fence, want := range map[string]string{"```hcl\nplan": "```hcl\n" + entry + "```", "```console\n": "```console\n" + shorten(printed+"\n") + "```"} {
		start := strings.Index(string(text), fence)
		length := strings.Index(string(text)[max(start, 0)+len(fence):], "```")
		if start < 0 || length < 0 {
			t.Fatalf("%s has no %q", document, fence)
		}
		text = slices.Replace(text, start, start+len(fence)+length+len("```"), []byte(want)...)
	}
	golden.Compare(t, document, text)
}
