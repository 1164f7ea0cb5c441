package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestTermsAddUp: what a plan is taken apart into is the plan: terms of memory sum
// to each stage, terms of time to the step, and every collective has its route.
func TestTermsAddUp(t *testing.T) {
	j, to := piped(t)
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	d := compiler.NewDetail(j, to, p)
	for i, stage := range p.Memory.Stages {
		sum := 0.0
		for _, term := range d.MemoryTerms(i) {
			sum += term.Amount
		}
		if sum != float64(stage.AllocatedBytes) {
			t.Errorf("the terms of stage %d are %v bytes of %d", i, sum, stage.AllocatedBytes)
		}
	}
	sum := 0.0
	for _, term := range d.TimeTerms() {
		sum += term.Amount
	}
	if step := float64(p.Time.StepSeconds); math.Abs(sum-step) > 1e-6*step {
		t.Errorf("the terms of the step are %v of %v s", sum, step)
	}
	routes := d.Routes()
	if len(routes) != len(p.Communication) {
		t.Errorf("%d routes of %d collectives", len(routes), len(p.Communication))
	}
	for _, r := range routes {
		if r.Size < 2 || r.Algorithm == "" || r.Why == "" || r.Bandwidth <= 0 {
			t.Errorf("a route is %+v", r)
		}
	}
	// Each of 16 micro-batches gathers 17 layers and the embedding once, as the backward pass leaves
	// them for the next forward pass, and sends once from rank to rank; gradients go in buckets;
	// norm, overflow and loss are three values.
	calls := map[string]int{"data_parallel_shard all_gather": 16 * (17 + 1), "data_parallel_shard reduce_scatter": 0, "pipeline_parallel point_to_point": 16, "world all_reduce": 3}
	for _, r := range routes {
		if want, ok := calls[r.Group+" "+r.Collective]; !ok || r.Calls != want {
			t.Errorf("%s over %s is called %d times, want %d", r.Collective, r.Group, r.Calls, want)
		}
	}
	for _, r := range append(d.Kinds(), routes...) {
		for _, m := range r.Messages {
			if m.Algorithms[0].Needs != "" || m.Algorithms[0].Seconds <= 0 {
				t.Errorf("%s over %s takes %+v", r.Collective, r.Group, m.Algorithms)
			}
		}
	}
	if n := len(d.Kinds()); n != 9 {
		t.Errorf("%d kinds of collectives", n)
	}
	if d.Step() != p.Time.StepSeconds {
		t.Errorf("the step is %v, asked again %v", p.Time.StepSeconds, d.Step())
	}
}

// TestAveraging: two replicas of eight ranks each hold an eighth of Llama 3 8B's
// 8,030,261,248 weights, 4,015,130,624 bytes in four, and reduce as many gradients after
// each micro-batch. Ranks that share one copy have nothing to average.
func TestAveraging(t *testing.T) {
	for _, replicate := range []int{1, 2} {
		j, to := piped(t)
		j.Cluster.Nodes = 2
		j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1}}
		j.Constraints.Layout.TensorParallel = job.IntChoice{Values: []int{1}}
		j.Constraints.Layout.ContextParallel = job.IntChoice{Values: []int{1}}
		j.Constraints.Layout.DataParallelReplicate = job.IntChoice{Values: []int{replicate}}
		p, _, err := compiler.Compile(context.Background(), j, to)
		if err != nil || !p.Feasible {
			t.Fatalf("%v, %+v", err, p.Search)
		}
		list := compiler.NewDetail(j, to, p).Averaging()
		if replicate == 1 {
			if list != nil {
				t.Errorf("one copy is averaged: %+v", list)
			}
			continue
		}
		const whole = 4015130624
		want := []units.Bytes{units.Bytes(p.Layout.MicroBatches) * whole, whole / 10, whole / 100, whole / 100, whole / 500, whole, whole}
		if len(list) != len(want) {
			t.Fatalf("%+v", list)
		}
		for i, a := range list {
			if a.Bytes != want[i] || a.Seconds <= 0 || i < 5 && a.Seconds > list[0].Seconds || a.Agree == "" || (a.Source == "") != (i == 0) {
				t.Errorf("%+v, want %d bytes a step", a, want[i])
			}
		}
		if a := list[4]; a.Device != 3*whole || a.Host != whole || math.Abs(float64(a.Seconds*500/(list[1].Seconds*10))-1) > 1e-9 {
			t.Errorf("DiLoCo takes %+v", a)
		}
	}
}

// TestNeighbours: neighbours have the moved value, those that are feasible fit, the
// others say why not, and none of them that the job allows is better by the
// objective than what the search found by more than what cannot be told apart.
func TestNeighbours(t *testing.T) {
	j, to := piped(t)
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	list, err := compiler.NewDetail(j, to, p).Neighbours(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	axes, feasible := map[string]bool{}, 0
	for _, n := range list {
		axes[n.Axis] = true
		switch {
		case n.From == n.To:
			t.Errorf("%s did not move from %s", n.Axis, n.From)
		case !n.Feasible && n.Why == "":
			t.Errorf("%s = %s is not feasible, and nothing says why", n.Axis, n.To)
		case n.Feasible && n.PeakDeviceBytes > p.Memory.UsableBytes:
			t.Errorf("%s = %s is feasible with %d bytes", n.Axis, n.To, n.PeakDeviceBytes)
		case n.Feasible && n.Why == "" && n.StepSeconds < p.Time.StepSeconds*0.9:
			t.Errorf("%s = %s takes %v, the chosen layout %v", n.Axis, n.To, n.StepSeconds, p.Time.StepSeconds)
		}
		if n.Feasible {
			feasible++
		}
		if n.Axis == "pipeline_parallel" && n.Feasible && n.Why == "" {
			t.Errorf("the job pins the pipeline, and %s is not said to be left out", n.To)
		}
	}
	for _, name := range []string{"tensor_parallel", "pipeline_parallel", "micro_batch_size", "recompute", "zero_stage"} {
		if !axes[name] {
			t.Errorf("%s has no neighbour", name)
		}
	}
	if feasible < 3 {
		t.Errorf("%d of %d neighbours are feasible", feasible, len(list))
	}
}

// TestWhyNoNeighbour: of degrees that no mesh has it is not said that they do not divide the batch;
// why a neighbour is illegal is asked of the plan's own replicas, not of the many that the rule of
// expert copies refuses; and a layout of one stage has no neighbour of several chunks, which were
// refused as what the job asks for.
func TestWhyNoNeighbour(t *testing.T) {
	for _, c := range []struct {
		nodes, batch  int
		model, layout string
		axis, to, why string // why "": there is no such neighbour
	}{
		{4, 128, "mixtral_8x7b", "pipeline_parallel = 4\n expert_tensor_parallel = 1", "expert_tensor_parallel", "2", "expert_tensor_parallel must divide tensor_parallel"},
		{9, 144, "mixtral_8x7b", "pipeline_parallel = 2\n expert_parallel = 4", "zero_stage", "2", "Megatron-FSDP with pipeline_parallel"},
		{1, 64, "llama3_8b", "pipeline_parallel = 1", "virtual_pipeline", "2", ""},
	} {
		src := fmt.Sprintf(listJob, "dgx_h100", c.nodes, c.model, c.batch, "", "layout {\n tensor_parallel = 1\n context_parallel = 1\n "+c.layout+"\n }", "megatron", "core_v0.19.2")
		p := planOf(t, []byte(src), "megatron")
		list, err := compiler.NewDetail(p.job, p.target, p.plan).Neighbours(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(n plan.Neighbour) bool { return n.Axis == c.axis && n.To == c.to })
		if i < 0 != (c.why == "") || i >= 0 && !strings.Contains(list[i].Why, c.why) {
			t.Errorf("%s = %s: %+v", c.axis, c.to, list)
		}
	}
}

// TestSensitivity: a step is no shorter with less of any hardware, or with a larger
// model.
func TestSensitivity(t *testing.T) {
	j, to := piped(t)
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	list := compiler.NewDetail(j, to, p).Sensitivity()
	if len(list) < 8 || list[0].Share < 0.03 {
		t.Fatalf("what moves the step is %+v", list)
	}
	for i, s := range list {
		if s.Step < p.Time.StepSeconds || s.Share > 0.35 {
			t.Errorf("%s, %s: %v after %v", s.Path, s.Change, s.Step, p.Time.StepSeconds)
		}
		if i > 0 && units.RoundedTo(s.Share, 1) > list[i-1].Share {
			t.Errorf("%s comes after what moves less", s.Path)
		}
	}
}

// TestLayouts: all layouts of a job have the plan among them, and those that fit do.
func TestLayouts(t *testing.T) {
	j, to := piped(t)
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	list, err := compiler.NewDetail(j, to, p).Layouts(context.Background())
	if err != nil || len(list) < 50 {
		t.Fatalf("%d layouts, %v", len(list), err)
	}
	found, count := false, map[plan.Fit]int{}
	for i := range list {
		a := &list[i]
		count[a.Fits]++
		found = found || a.StepSeconds == p.Time.StepSeconds && a.PeakDeviceBytes == p.Memory.Peak.DeviceBytes
		if a.Fits == plan.Fits && a.PeakDeviceBytes > p.Memory.UsableBytes || a.Layout.PipelineParallel != 2 {
			t.Errorf("%+v is among them", a)
		}
	}
	if !found || count[plan.Fits] == 0 || count[plan.FitsNot] == 0 {
		t.Errorf("the plan is found: %v; %v", found, count)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := compiler.NewDetail(j, to, p).Layouts(ctx); err == nil {
		t.Error("an ended context assesses layouts")
	}
}

// TestRoofline: kernels take some time, and none is faster than the GPU allows.
func TestRoofline(t *testing.T) {
	j, to := piped(t)
	p, _, err := compiler.Compile(context.Background(), j, to)
	if err != nil {
		t.Fatal(err)
	}
	r := compiler.NewDetail(j, to, p).Roofline()
	if len(r.Kernels) < 4 {
		t.Fatalf("%d kernels", len(r.Kernels))
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		roof := min(float64(k.Peak), k.Intensity()*float64(r.MemoryBandwidth))
		if k.Layers != j.Model.Layers || float64(k.Rate()) > roof || float64(k.Rate()) < 0.1*roof {
			t.Errorf("%+v does %v of at most %v", k, k.Rate(), roof)
		}
	}
}
