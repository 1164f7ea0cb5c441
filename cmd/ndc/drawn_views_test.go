package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/search"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/units"
	"github.com/ndc-dev/ndc/view"
)

// TestDrawnViews: for jobs drawn at random that fit, what is told of their plans beside the
// numbers of the plan itself is what other builds give. Each of the seeds found a fault;
// NDC_VIEWS_SEED and NDC_VIEWS_JOBS draw others.
func TestDrawnViews(t *testing.T) {
	seeds, drawn := seedsOf("NDC_VIEWS", 56, 576)
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			src := drawLimited(rand.New(rand.NewSource(seed)))
			if c := drawnPlan(t, src); c != nil {
				t.Log(src)
				judgeChoice(t, c)
				judgePins(t, src, c)
				judgeNeighbours(t, c)
				judgeCompared(t, c)
				judgeSizes(t, src, c)
				judgeSensitivity(t, src, c)
				if drawn { // which take longer
					judgeWhatIf(t, src, c)
					judgeSweep(t, src)
				}
			}
		})
	}
}

// drawnPlan compiles a drawn job; nil where it fits nowhere, or is refused.
func drawnPlan(t *testing.T, src string) *compiled {
	t.Helper()
	file := t.TempDir() + "/job.hcl"
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	w, diags := loadFrom(disk{}, file, &inputFlags{})
	if diags.HasErrors() {
		return nil
	}
	if _, plans, _ := sketches(compiler.Settled(&w.Jobs[0])); len(plans) != 1 || !plans[0].Feasible {
		return nil // without looking for what would make it fit
	}
	return planOf(t, []byte(src), "")
}

// judgeChoice: --compare tells of a layout that the plan was chosen among the same range as the plan.
func judgeChoice(t *testing.T, c *compiled) {
	for i := range c.plan.Selection.Among {
		one := &c.plan.Selection.Among[i]
		p, why, err := compiler.Fixed(t.Context(), c.job, c.target, &plan.Choice{Layout: one.Layout, Execution: one.Execution})
		if p == nil {
			t.Errorf("contender %d: %s, %v", i, why, err)
			continue
		}
		if d := stepDifference(c, &compiled{job: c.job, target: c.target, plan: p}); d == nil || *d != one.StepDifferenceRange {
			t.Errorf("contender %d takes %v longer, by --compare %v", i, one.StepDifferenceRange, d)
		}
	}
}

// judgePins: a job with the blocks that are printed for a plan, an alternative or a layout that the plan
// was chosen among has its layout, options and step.
func judgePins(t *testing.T, src string, c *compiled) {
	p := c.plan
	wanted := []plan.Alternative{{Layout: p.Layout, Execution: p.Execution, StepSeconds: p.Time.StepSeconds}}
	wanted = append(wanted, p.Alternatives...)
	for i := range p.Selection.Among {
		one := &p.Selection.Among[i]
		wanted = append(wanted, plan.Alternative{Layout: one.Layout, Execution: one.Execution})
	}
	for i := range wanted {
		a := &wanted[i]
		text, diags := pinBlocks(c, &a.Layout, &a.Execution)
		if diags.HasErrors() {
			t.Errorf("%d of %d: %v", i, len(wanted), diags)
			continue
		}
		got := planOf(t, pasted(t, []byte(src), text), "").plan
		if d := cmp.Diff(a.Layout, got.Layout) + cmp.Diff(a.Execution, got.Execution); d != "" || a.StepSeconds > 0 && got.Time.StepSeconds != a.StepSeconds {
			t.Errorf("%d of %d, %d alternatives: a step of %v, not of %v, with\n%s%s", i, len(wanted), len(p.Alternatives), got.Time.StepSeconds, a.StepSeconds, text, d)
		}
	}
}

// judgeNeighbours: of the layout of a neighbour an alternative may have other options, by which it is
// faster, but by so little that the rule of choice passes them over.
func judgeNeighbours(t *testing.T, c *compiled) {
	list, err := compiler.NewDetail(c.job, c.target, c.plan).Neighbours(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		n := &list[i]
		for k := range c.plan.Alternatives {
			a := &c.plan.Alternatives[k]
			if changes := view.Changes(&n.Layout, &c.plan.Execution, &a.Layout, &c.plan.Execution); len(changes) > 0 {
				continue
			}
			if faster := 1 - float64(a.StepSeconds/n.StepSeconds); !n.Feasible || faster < 0 || faster > 0.03 {
				t.Errorf("%s %s to %s takes %v and %v (%s), as an alternative %v and %v", n.Axis, n.From, n.To, n.StepSeconds, n.PeakDeviceBytes, n.Why, a.StepSeconds, a.PeakDeviceBytes)
			}
		}
	}
}

// judgeCompared: the terms of a plan add up to its step, those of its busiest rank to what is allocated
// there, and its collectives are exposed for as long as the terms of the step say, but for a pipeline,
// in which a rank waits for transfers of others, too.
func judgeCompared(t *testing.T, c *compiled) {
	p := c.plan
	var step, told, exposed units.Seconds
	for _, l := range p.Time.Breakdown {
		step += l.Seconds
		switch l.ID {
		case "tensor_parallel", "context_parallel", "expert_parallel", "sharded_state", "pipeline_transfer", "gradient_reduction", "parameter_gather", "small_collectives":
			told += l.Seconds
		}
	}
	for _, l := range p.Communication {
		exposed += l.ExposedSeconds
	}
	if math.Abs(float64(step/p.Time.StepSeconds)-1) > 1e-6 {
		t.Errorf("terms of %v in a step of %v", step, p.Time.StepSeconds)
	}
	if off := float64((told - exposed) / step); off < -1e-6 || off > 1e-6 && p.Layout.PipelineParallel == 1 {
		t.Errorf("%v of communication is exposed, by the terms of the step %v", exposed, told)
	}
	for _, s := range p.Memory.Stages {
		var held units.Bytes
		for _, l := range s.Ledger {
			held += l.Bytes
		}
		if m := &p.Memory.Peak; held != s.AllocatedBytes || s.Stage == m.Stage && (held != m.AllocatedBytes || s.ReservedBytes != m.ReservedBytes || s.DeviceBytes != m.DeviceBytes) {
			t.Errorf("lines of %v on stage %d of %v, %v, %v, a peak of %v, %v, %v", held, s.Stage, s.AllocatedBytes, s.ReservedBytes, s.DeviceBytes, m.AllocatedBytes, m.ReservedBytes, m.DeviceBytes)
		}
	}
}

// judgeSizes: each row of a table of sizes is what the job gives on so many nodes, and the one that is
// chosen what it gives where the nodes are open.
func judgeSizes(t *testing.T, src string, c *compiled) {
	file := t.TempDir() + "/job.hcl"
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	with := func(nodes string) *inputFlags {
		return &inputFlags{overrides: lang.ParseOverrides("--compare", fmt.Sprintf("cluster.nodes=%d; nodes=%s", 3*c.plan.Input.Nodes, nodes))}
	}
	open := fmt.Sprintf("[1, %d, %d]", 2*c.plan.Input.Nodes, 3*c.plan.Input.Nodes)
	w, diags := loadFrom(disk{}, file, with(open))
	if diags.HasErrors() {
		t.Logf("sizes: %v", diags) // one GPU has no network
		return
	}
	plans := sizes(&w.Jobs[0], true)
	best := compiler.Best(&w.Jobs[0], plans)
	for _, p := range plans {
		got, _, diags := plansOf(disk{}, file, with(fmt.Sprint(p.Input.Nodes)))
		if diags.HasErrors() {
			if p.Feasible {
				t.Errorf("%d nodes: %v", p.Input.Nodes, diags)
			}
			continue
		}
		one := got.list[0].plan
		held := c.job.Constraints.Objective == "memory" // against the fastest of all sizes
		if one.Feasible != p.Feasible || p.Feasible && !held && (one.Time.StepSeconds != p.Time.StepSeconds || one.Memory.Peak.DeviceBytes != p.Memory.Peak.DeviceBytes || one.Run.ExpectedSeconds != p.Run.ExpectedSeconds) {
			t.Errorf("%d nodes: %v, %v, %v in the table, %v, %v, %v alone", p.Input.Nodes, p.Feasible, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes, one.Feasible, one.Time.StepSeconds, one.Memory.Peak.DeviceBytes)
		}
		// alone with a count of the layouts, or with what leaves an NVLink domain
		nvlink := !p.Feasible && one.Infeasible.Reasons[0].ID == p.Infeasible.Reasons[0].ID && p.Infeasible.Reasons[0].ID == string(search.IDLeavesNVLink)
		if !p.Feasible && !nvlink && !strings.HasSuffix(view.FirstReason(one), view.FirstReason(p)) {
			t.Errorf("%d nodes: %q in the table, %q alone", p.Input.Nodes, view.FirstReason(p), view.FirstReason(one))
		}
	}
	got, _, diags := plansOf(disk{}, file, with(open))
	switch {
	case diags.HasErrors():
		if best >= 0 {
			t.Errorf("open: %v", diags)
		}
	case got.list[0].plan.Feasible != (best >= 0):
		t.Errorf("open: feasible %v, best %d", got.list[0].plan.Feasible, best)
	case best >= 0:
		if p, q := got.list[0].plan, plans[best]; p.Input.Nodes != q.Input.Nodes || p.Time.StepSeconds != q.Time.StepSeconds || p.Memory.Peak.DeviceBytes != q.Memory.Peak.DeviceBytes {
			t.Errorf("open: %d nodes, %v, %v chosen, %d nodes, %v, %v in the table", p.Input.Nodes, p.Time.StepSeconds, p.Memory.Peak.DeviceBytes, q.Input.Nodes, q.Time.StepSeconds, q.Memory.Peak.DeviceBytes)
		}
	}
}

// judgeSensitivity: each step that is told with less of the hardware or a larger model is that of the
// job which says so, with the layout and the options of the plan.
func judgeSensitivity(t *testing.T, src string, c *compiled) {
	text, diags := pinBlocks(c, &c.plan.Layout, &c.plan.Execution)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	file := t.TempDir() + "/job.hcl"
	if err := os.WriteFile(file, pasted(t, []byte(src), text), 0o666); err != nil {
		t.Fatal(err)
	}
	k, m := &c.job.Cluster, &c.job.Model
	rate := func(x float64, unit string) string { return strconv.FormatFloat(x, 'f', -1, 64) + unit }
	for _, s := range compiler.NewDetail(c.job, c.target, c.plan).Sensitivity() {
		var sets []string
		switch s.Path {
		case "cluster.gpu.peak_flops":
			for name, v := range map[string]units.FLOPsPerSecond{"fp32": k.GPU.PeakFLOPS.FP32, "tf32": k.GPU.PeakFLOPS.TF32, "bf16": k.GPU.PeakFLOPS.BF16, "fp16": k.GPU.PeakFLOPS.FP16, "fp8": k.GPU.PeakFLOPS.FP8, "fp4": k.GPU.PeakFLOPS.FP4} {
				if v > 0 {
					sets = append(sets, fmt.Sprintf("cluster.gpu.peak_flops.%s=%s", name, rate(float64(v)*0.9, "FLOPS")))
				}
			}
		case "cluster.gpu.memory_bandwidth":
			sets = []string{s.Path + "=" + rate(float64(k.GPU.MemoryBandwidth)*0.9, "B/s")}
		case "cluster.nvlink.bandwidth":
			sets = []string{s.Path + "=" + rate(float64(k.NVLink.Bandwidth)*0.9, "B/s")}
		case "cluster.pcie.bandwidth":
			sets = []string{s.Path + "=" + rate(float64(k.PCIe.Bandwidth)*0.9, "B/s")}
		case "cluster.network.bandwidth":
			sets = []string{s.Path + "=" + rate(float64(k.Network.Bandwidth)*0.9, "B/s")}
		case "cluster.network.latency":
			sets = []string{s.Path + "=" + rate(float64(k.Network.Latency)*2e6, "us")}
		case "model.ffn_hidden_size":
			sets = []string{fmt.Sprintf("%s=%d", s.Path, int(float64(m.FFNHiddenSize)*1.1)/256*256)}
		case "model.vocab_size":
			sets = []string{fmt.Sprintf("%s=%d", s.Path, int(float64(m.VocabSize)*1.1)/256*256)}
		case "model.sequence_length":
			sets = []string{fmt.Sprintf("%s=%d", s.Path, int(float64(m.SequenceLength)*1.1)/256*256)}
		default:
			t.Errorf("%s is not judged", s.Path)
		}
		got, _, diags := plansOf(disk{}, file, &inputFlags{overrides: lang.ParseOverrides("--compare", strings.Join(sets, "; "))})
		if diags.HasErrors() || len(got.list) != 1 || len(got.list[0].plan.Time.Breakdown) == 0 {
			t.Logf("%q: %v", sets, diags)
			continue
		}
		if changes := view.Changes(&c.plan.Layout, &c.plan.Execution, &got.list[0].plan.Layout, &got.list[0].plan.Execution); len(changes) > 0 {
			t.Logf("%q: %v", sets, changes)
			continue
		}
		if step := got.list[0].plan.Time.StepSeconds; math.Abs(float64(step/s.Step)-1) > 1e-8 {
			t.Errorf("%s, %s: %v, built %v (now %v)", s.Path, s.Change, s.Step, step, c.plan.Time.StepSeconds)
		}
	}
}
