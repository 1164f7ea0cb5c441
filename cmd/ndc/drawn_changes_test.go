package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// judgeWhatIf: the step that explain tells of a changed job under the plan's layout is that of the job
// which says both, and the best layout that it tells is no slower.
func judgeWhatIf(t *testing.T, src string, c *compiled) {
	text, diags := pinBlocks(c, &c.plan.Layout, &c.plan.Execution)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	folder := t.TempDir()
	free, pinned := folder+"/job.hcl", folder+"/pinned.hcl"
	for file, text := range map[string][]byte{free: []byte(src), pinned: pasted(t, []byte(src), text)} {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	planned := func(file, sets string) *compiled {
		plans, _, diags := plansOf(disk{}, file, &inputFlags{overrides: lang.ParseOverrides("--what-if", sets)})
		if diags.HasErrors() || len(plans.list) != 1 {
			return nil
		}
		return plans.list[0]
	}
	const recut = "; constraints.layout.micro_batches=null; constraints.layout.stage_layers=null"
	for _, change := range []string{
		fmt.Sprintf("training.global_batch_size=%d", 2*c.job.Training.GlobalBatchSize), fmt.Sprintf("model.sequence_length=%d", c.job.Model.SequenceLength/2),
		fmt.Sprintf("model.layers=%d", c.job.Model.Layers/2), "cluster.gpu.memory=24GB", "cluster.gpu.memory_bandwidth=1TB/s", "cluster.nodes=" + fmt.Sprint(2*c.job.Cluster.Nodes),
	} {
		then := planned(free, change)
		if then == nil || then.target == nil {
			continue
		}
		kept, err := compiler.NewDetail(then.job, then.target, c.plan).Held(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		one := planned(pinned, change)
		if one == nil || len(one.plan.Time.Breakdown) == 0 {
			one = planned(pinned, change+recut)
		}
		if one == nil || len(one.plan.Time.Breakdown) == 0 {
			if kept > 0 {
				t.Errorf("%s: %v with the plan's layout, built it does not run", change, kept)
			}
			continue
		}
		p := one.plan
		same := cmp.Equal(p.Execution, c.plan.Execution)
		for i := range option.Axes {
			if a := &option.Axes[i]; a.Name != "micro_batches" && a.Name != "stage_layers" {
				same = same && a.Same(&p.Layout, &c.plan.Layout)
			}
		}
		if !same {
			t.Logf("%s: another layout, %v and %v", change, kept, p.Time.StepSeconds)
			continue
		}
		if math.Abs(float64(kept/p.Time.StepSeconds)-1) > 1e-8 {
			t.Errorf("%s: %v with the plan's layout, built %v", change, kept, p.Time.StepSeconds)
		}
		if best := then.plan; p.Feasible && (!best.Feasible || c.job.Constraints.Objective != "memory" && float64(best.Time.StepSeconds/p.Time.StepSeconds) > 1.0301) {
			t.Errorf("%s: the best layout takes %v (fits %v), the plan's %v", change, best.Time.StepSeconds, best.Feasible, p.Time.StepSeconds)
		}
	}
}

// judgeSweep: a job that differs in what no plan depends on is planned once, and built as it is alone.
func judgeSweep(t *testing.T, src string) {
	file := t.TempDir() + "/job.hcl"
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	var jobs []*job.Job
	for _, sets := range []string{"training.seed=1", "training.seed=7; training.optimizer.learning_rate=3e-4"} {
		w, diags := loadFrom(disk{}, file, &inputFlags{overrides: lang.ParseOverrides("--compare", sets)})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		jobs = append(jobs, &w.Jobs[0])
	}
	var s sweep
	for _, j := range jobs {
		swept, diags := compile(&request{job: j, sweep: &s})
		alone, more := compile(&request{job: j})
		if diags.HasErrors() || more.HasErrors() {
			t.Fatal(diags, more)
		}
		if d := cmp.Diff(alone.plan, swept.plan); d != "" {
			t.Errorf("a plan (-alone +of a sweep):\n%s", d)
		}
		if d := cmp.Diff(alone.artifacts, swept.artifacts); d != "" {
			t.Errorf("files (-alone +of a sweep):\n%s", d)
		}
	}
	if len(s) != 1 {
		t.Errorf("%d searches", len(s))
	}
}

// nodesAdvised is a change of the nodes alone.
var nodesAdvised = regexp.MustCompile(`^cluster\.nodes = ([0-9]+) \(now ([0-9]+)\)`)

// judgeNodes: on a number of nodes between what advice tells and what the job has, the nearest of those
// that divide the batch, the job does not fit.
func judgeNodes(t *testing.T, file, change string, p *plan.Plan) {
	m := nodesAdvised.FindStringSubmatch(change)
	if m == nil {
		return
	}
	told, _ := strconv.Atoi(m[1])
	now, _ := strconv.Atoi(m[2])
	step := 1
	if told > now {
		step = -1
	}
	between := told + step
	for n := between; n != now; n += step {
		factor := n * p.Input.GPUs / p.Input.Nodes
		for factor%2 == 0 {
			factor /= 2
		}
		if p.Input.GlobalBatchSize%factor == 0 {
			between = n
			break
		}
	}
	if between == now {
		return
	}
	if set := fmt.Sprintf("cluster.nodes=%d", between); searchFits(t, file, set) {
		t.Errorf("%s fits, too, and %s is told", set, strings.TrimSpace(change))
	}
}
