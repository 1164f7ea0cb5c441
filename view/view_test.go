package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/calibration"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/logs"
	"github.com/ndc-dev/ndc/tools/golden"
)

// example is a plan with numbers that are easy to follow, not to believe.
func example() *plan.Plan {
	p := &plan.Plan{
		Backend: "megatron", BackendVersion: "core_v0.18.2", Feasible: true,
		Input: plan.Input{Model: "m <8B>", ParametersTotal: 8_030_261_248, ParametersActive: 8_030_261_248, SequenceLength: 8192, GlobalBatchSize: 64, Precision: "bf16", GPU: "h100_sxm", Nodes: 1, GPUs: 8},
		Layout: plan.Layout{TensorParallel: 2, SequenceParallel: true, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, PipelineSchedule: plan.Schedule1F1B,
			StageLayers: []int{17, 15}, ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 2, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 32,
			Recompute: plan.RecomputeFull, RecomputeMethod: "block", RecomputeLayers: 3},
		Execution: plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", OverlapGradientReduce: true, LossChunks: 1},
		Memory: plan.Memory{GPUBytes: 80 * units.GiB, UsableBytes: 76 * units.GiB,
			Peak: plan.Peak{Rank: 0, Stage: 0, AllocatedBytes: 60 * units.GiB, DeviceBytes: 64 * units.GiB, DeviceRangeBytes: [2]units.Bytes{62 * units.GiB, 66 * units.GiB}}},
		Time: plan.Time{StepSeconds: 10, StepRangeSeconds: [2]units.Seconds{9, 11.5}, BubbleShare: 0.03, ExposedCommunicationShare: 0.1,
			Breakdown: []plan.TimeLine{{ID: "linear", Name: "matrix multiplications", Seconds: 8.7}, {ID: "tensor", Name: "exposed tensor-parallel communication", Seconds: 1}, {ID: "bubble", Name: "pipeline bubble", Seconds: 0.3}}},
		Throughput: plan.Throughput{TokensPerSecondPerGPU: 6553.6, ModelTFLOPSPerGPU: 340, MFU: 0.34, HFU: 0.36},
		Run:        plan.Run{Steps: 1000, Seconds: 10000, GPUHours: 22.2, Jobs: 2, Checkpoints: &plan.Checkpoints{Given: "time", IntervalSteps: 180, IntervalSeconds: 1800, Bytes: 14 * 8_030_261_248, Kept: 6}},
		Search:     plan.Search{Enumerated: 100, Evaluated: 40, Pruned: 50, Rejected: []plan.Rejection{{ID: "memory", Reason: "the busiest rank needs more memory than is usable", Count: 10}}},
		Warnings:   []plan.Warning{{ID: "w", Summary: "Something to know", Detail: "This is why."}},
	}
	for s := range 2 {
		p.Memory.Stages = append(p.Memory.Stages, plan.StageMemory{Stage: s, Layers: []int{16}, AllocatedBytes: 60 * units.GiB, DeviceBytes: 64 * units.GiB,
			Ledger: []plan.LedgerLine{{ID: "gradients", Name: "gradients", Bytes: 40 * units.GiB}, {ID: "parameters", Name: "parameters", Bytes: 20 * units.GiB}}})
	}
	return p
}

// infeasibleExample is one that does not fit.
func infeasibleExample() *plan.Plan {
	p := example()
	p.Feasible = false
	p.Infeasible = &plan.Infeasible{
		Reasons: []plan.Reason{{ID: "memory", Summary: "stage 0 needs 91.3 GiB of 76.0 GiB usable on rank 0: 52.0 activations, 39.3 other"}},
		Nearest: []plan.Nearest{{Layout: p.Layout, StepSeconds: 10, PeakDeviceBytes: 91 * units.GiB, MissingBytes: 15 * units.GiB, With: []string{"execution.offload.optimizer"}},
			{Layout: p.Layout, StepSeconds: 11, PeakDeviceBytes: 60 * units.GiB, MissingHostBytes: 100 * units.GiB}},
		Fixes: []plan.Fix{{Change: "cluster.nodes = 2 (now 1)", StepSeconds: 5, PeakDeviceBytes: 50 * units.GiB}},
	}
	return p
}

// TestGolden: plans that fit and that do not are told on the screen and on the page as their
// goldens say.
func TestGolden(t *testing.T) {
	for name, got := range map[string]string{
		"summary.txt":    Summary("llama", example()),
		"infeasible.txt": Summary("llama", infeasibleExample()),
		"page.md":        Markdown("llama", []*plan.Plan{example(), infeasibleExample()}),
	} {
		golden.Compare(t, "testdata/"+name, []byte(got))
	}
}

// TestBar: a bar is full at the limit, and not longer beyond it.
func TestBar(t *testing.T) {
	for share, full := range map[units.Bytes]int{0: 0, 50: 20, 100: 40, 250: 40} {
		if got := strings.Count(Bar(share, 100), "█"); got != full {
			t.Errorf("Bar(%d, 100) has %d full cells, want %d", share, got, full)
		}
	}
}

// TestKept: a run's checkpoints are told with what they take in all, which more than any
// storage has does not overflow.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		checkpoints *plan.Checkpoints
		want        string
	}{
		{nil, ""},
		{&plan.Checkpoints{IntervalSteps: 5}, ""}, // of a version that did not say it
		{&plan.Checkpoints{Bytes: 3 << 30, Kept: 1}, "\none checkpoint kept, 3.0 GiB"},
		{&plan.Checkpoints{Bytes: 3 << 30, Kept: 512}, "\n512 checkpoints kept, 3.0 GiB each, 1.5 TiB in all"},
		{&plan.Checkpoints{Bytes: 14e12, Kept: 2e6}, "\n2000000 checkpoints kept, 12.7 TiB each, 4194304.0 TiB in all"},
	} {
		if got := kept(c.checkpoints); got != c.want {
			t.Errorf("%+v: %q, want %q", c.checkpoints, got, c.want)
		}
	}
}

// TestDurations: what is compared has one unit, that of the longest, and no
// number becomes zero by it.
func TestDurations(t *testing.T) {
	for _, c := range []struct {
		seconds []units.Seconds
		want    string
	}{
		{[]units.Seconds{18.1 * 86400, 220.5 * 3600}, "18.1 days, 9.2 days"},
		{[]units.Seconds{220.5 * 3600, 18.1 * 86400}, "9.2 days, 18.1 days"},
		{[]units.Seconds{0.9876, 1.2}, "0.99 s, 1.20 s"},
		{[]units.Seconds{0.0012, 3}, "0.0012 s, 3.00 s"},
		{[]units.Seconds{3600, 20 * 86400}, "0.042 days, 20.0 days"},
		{[]units.Seconds{0, 3}, "0.00 s, 3.00 s"},
		{[]units.Seconds{0.00002}, "0.0 ms"},
	} {
		if got := strings.Join(Durations(c.seconds...), ", "); got != c.want {
			t.Errorf("%v: %q, want %q", c.seconds, got, c.want)
		}
	}
}

// TestGPUHours: what a short run takes, and what trying its layouts may, is something.
func TestGPUHours(t *testing.T) {
	for hours, want := range map[float64]string{0: "0", 1e-9: "0", 0.0000752: "0.000075", -0.0031: "-0.0031", 0.0153: "0.015", 4.567: "4.57", 498483.2: "498483"} {
		if got := GPUHours(hours); got != want {
			t.Errorf("%v: %q, want %q", hours, got, want)
		}
	}
}

// TestCompareStages: a comparison shortens runs of equal chunks, so that its columns
// stay readable. What a step differs by has a range where it is known.
func TestCompareStages(t *testing.T) {
	interleaved := example()
	interleaved.Layout.VirtualPipeline, interleaved.Layout.StageLayers = 16, slices.Repeat([]int{1}, 32)
	list := []Compared{{Change: "as it is", Plan: example()}, {Change: "virtual", Plan: interleaved}}
	if got := Compare("llama", list); !strings.Contains(got, "17 + 15") || !strings.Contains(got, "32 x 1\n") || strings.Contains(got, "90 % range") {
		t.Error(got)
	}
	list[1].StepDifference = &[2]float64{-0.021, 0.034}
	if got := Compare("llama", list); !strings.Contains(strings.Join(strings.Fields(got), " "), "difference, 90 % range -2.1 % to +3.4 % matrix") {
		t.Error(got)
	}
}

// TestCompareMemory: the lines of the busiest rank add up to what the device holds.
func TestCompareMemory(t *testing.T) {
	p := example()
	p.Memory.Stages = []plan.StageMemory{{Stage: 0, AllocatedBytes: 6 * units.GiB, ReservedBytes: 8 * units.GiB, DeviceBytes: 11 * units.GiB,
		Ledger: []plan.LedgerLine{{ID: "parameters", Name: "parameters", Bytes: 6 * units.GiB}}}}
	p.Memory.Peak = plan.Peak{AllocatedBytes: 6 * units.GiB, ReservedBytes: 8 * units.GiB, DeviceBytes: 11 * units.GiB}
	got := strings.Join(strings.Fields(Compare("llama", []Compared{{Change: "as it is", Plan: p}})), " ")
	if want := "all 11.0 GiB parameters 6.0 GiB held by the allocator beside tensors 2.0 GiB context, communicators and buffers outside it 3.0 GiB "; !strings.Contains(got, want) {
		t.Errorf("%q is not in %q", want, got)
	}
}

// TestTold: a summary tells of the plans that are expected to take the least, also where
// many are tied before what only a job that asks for it gets.
func TestTold(t *testing.T) {
	p := example()
	faster := p.Execution
	faster.MoEDispatcher = "deepep"
	p.Selection = &plan.Selection{Rule: "memory to spare"}
	for virtual := 2; virtual < 2+mostContenders; virtual++ {
		l := p.Layout
		l.VirtualPipeline = virtual
		p.Selection.Among = append(p.Selection.Among, plan.Contender{Layout: l, Execution: p.Execution, StepDifferenceRange: [2]float64{-0.06, 0.058}, WhyNot: "fewer axes and options"})
	}
	p.Selection.Among = append(p.Selection.Among, plan.Contender{Layout: p.Layout, Execution: faster, StepDifferenceRange: [2]float64{-0.2, -0.05}, WhyNot: "not chosen unasked"})
	lines := strings.Split(choice(p), "\n")
	if len(lines) != 1+mostContenders+1 || !strings.Contains(lines[1], "virtual_pipeline = 2") || !strings.Contains(lines[mostContenders], "deepep") || lines[len(lines)-1] != "and 1 more plan" {
		t.Error(strings.Join(lines, "\n"))
	}
	p.Selection.Among[mostContenders].StepDifferenceRange = [2]float64{-0.06, 0.055} // within the same per cent
	if got := choice(p); strings.Contains(got, "deepep") {
		t.Error(got)
	}
}

// TestRecompute: how many layers are recomputed together is told where it is not one.
func TestRecompute(t *testing.T) {
	for _, c := range []struct {
		layout plan.Layout
		want   string
	}{
		{plan.Layout{Recompute: plan.RecomputeFull, RecomputeMethod: "block", RecomputeLayers: 1}, "full (1 layer of each chunk)"},
		{plan.Layout{Recompute: plan.RecomputeFull, RecomputeMethod: "uniform", RecomputeLayers: 1}, "full (uniform)"},
		{plan.Layout{Recompute: plan.RecomputeFull, RecomputeMethod: "uniform", RecomputeLayers: 5}, "full (uniform, in groups of 5 layers)"},
	} {
		if got := recompute(&c.layout); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestStepRange: a step, what is expected of it and its range have one unit.
func TestStepRange(t *testing.T) {
	for _, c := range []struct {
		step, expected units.Seconds
		ends           [2]units.Seconds
		want           string
	}{
		{110.8, 112.48, [2]units.Seconds{103.14, 122.6}, "112.48 s expected of the best of 7, 103.14 s to 122.60 s"},
		{119.5, 121.3, [2]units.Seconds{110, 133}, "121.30 s expected of the best of 7, 110.00 s to 133.00 s"},
		{121, 123, [2]units.Seconds{113, 135}, "2.0 min expected of the best of 7, 1.9 min to 2.2 min"},
		{1.3, 1.33, [2]units.Seconds{0.9554, 1.85}, "1.33 s expected of the best of 7, 0.96 s to 1.85 s"},
	} {
		at := &plan.Time{StepSeconds: c.step, ExpectedSeconds: c.expected, StepRangeSeconds: c.ends, ChosenAmong: 7}
		if got := Expected(at) + StepRange(at); got != c.want {
			t.Errorf("%v: %q, want %q", c.step, got, c.want)
		}
	}
}

// TestMeasured: a calibrated plan names terms in words, and those that moved with all
// others together, though one moved the other way.
func TestMeasured(t *testing.T) {
	p := example()
	p.Calibration = &plan.Calibration{File: "c", StepSeconds: p.Time.StepSeconds, Terms: []plan.CalibratedTerm{
		{Term: "linear", Name: "dense GEMMs", Factor: 1.05}, {Term: "grouped", Name: "expert GEMMs", Factor: 1.011}, {Term: "attention", Name: "attention", Factor: 0.98}, {Term: "pcie", Factor: 1.011},
	}}
	if got := measured(p); !strings.Contains(got, ": dense GEMMs +5 %, attention -2 %, all other terms +1 %\n") {
		t.Error(got)
	}
}

// TestLongChain: of a chain of many launches, each of which failed or was left out for a
// reason of its own, the newest failures and the reasons of the most reports are told.
func TestLongChain(t *testing.T) {
	var w calibration.Progress
	for i := range 60 {
		w.Failures = append(w.Failures, logs.Failure{Launch: i, Line: i, Kind: "node"})
		w.Refused = append(w.Refused, logs.Refusal{Reason: fmt.Sprintf("build %d", i), Reports: 1 + i/59, First: i})
	}
	got := Progress(&w)
	for _, want := range []string{"Failed     52 launches before these, which --json lists\n", "Failed     launch 60, line 59: node", "Left out   2 reports from step 59 on: build 59\n", "52 reports for 52 further reasons\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", got, want)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 25 {
		t.Errorf("%d lines", lines)
	}
}

// TestGPUHoursRange: what a choice may cost is told with its sign, and where it is next to
// nothing, as that.
func TestGPUHoursRange(t *testing.T) {
	for want, r := range map[string][2]float64{
		"-27.2 to +25.9 GPU-hours":  {-27.2, 25.9},
		"-27.2 to 0 GPU-hours":      {-27.2, 0},
		"-0.001 to +0.25 GPU-hours": {-0.001, 0.25},
		"less than 0.01 GPU-hours":  {-0.002, 0.003},
	} {
		if got := gpuHours(r); got != want {
			t.Errorf("%v: %q, want %q", r, got, want)
		}
	}
}
