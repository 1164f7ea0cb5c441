package compiler

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestAble: what a backend refuses is left out of the lists, and of a list of which
// nothing is left its errors are told.
func TestAble(t *testing.T) {
	j := &job.Job{Sources: job.Sources{}}
	refuses := func(j *job.Job) (diags diag.List) {
		if j.Execution.LossChunks.Value > 1 {
			diags.Error("chunks", diag.Range{}, "no chunks", "")
		}
		if j.Execution.LossChunks.Value > 4 {
			diags.Error("many", diag.Range{}, "many chunks", "")
		}
		return diags
	}
	if able, diags := Able(j, refuses); able != j || diags != nil {
		t.Error("a job without lists is another one")
	}
	whole := Digest(j)
	lists := map[string][]string{"loss_chunks": {"1", "4"}, "offload.optimizer": {"true", "false"}}
	j.Constraints.Execution = lists
	if Digest(j) == whole {
		t.Error("a list is no part of the input")
	}
	able, diags := Able(j, refuses)
	if want := map[string][]string{"loss_chunks": {"1"}, "offload.optimizer": {"true", "false"}}; diags != nil || !reflect.DeepEqual(able.Constraints.Execution, want) {
		t.Errorf("left are %v (%v), want %v", able.Constraints.Execution, diags, want)
	}
	j.Constraints.Execution = map[string][]string{"loss_chunks": {"8", "2"}}
	if able, diags := Able(j, refuses); able != nil || len(diags) != 1 {
		t.Errorf("%v, want no job and the errors of 2 chunks", diags)
	}
	j.Execution.LossChunks = job.Some(2)
	j.Constraints.Execution = map[string][]string{"offload.optimizer": {"true"}}
	if able, diags := Able(j, refuses); able != nil || len(diags) != 1 {
		t.Errorf("%v, want no job and what is refused in any case", diags)
	}
}

// TestJoined: a list of one of two options that a target changes together leaves the
// other open, too, unless the job says what that is, or the list leaves nothing open.
func TestJoined(t *testing.T) {
	together := []target.Variant{{Options: []string{"offload.optimizer", "offload.parameters"}, Apply: func(x *plan.Execution) { x.OffloadOptimizer, x.OffloadParameters = true, true }}}
	both := []string{"true", "false"}
	for _, c := range []struct {
		lists  map[string][]string
		pinned bool // the parameters
		want   map[string][]string
	}{
		{map[string][]string{"offload.optimizer": both}, false, map[string][]string{"offload.optimizer": both, "offload.parameters": {"false", "true"}}},
		{map[string][]string{"offload.optimizer": both}, true, map[string][]string{"offload.optimizer": both}},
		{map[string][]string{"offload.optimizer": {"true"}}, false, map[string][]string{"offload.optimizer": {"true"}}},
		{map[string][]string{"offload.optimizer": both, "offload.parameters": both}, false, map[string][]string{"offload.optimizer": both, "offload.parameters": both}},
		{map[string][]string{"loss_chunks": {"1", "2"}}, false, map[string][]string{"loss_chunks": {"1", "2"}}},
	} {
		j := &job.Job{Constraints: job.Constraints{Execution: c.lists}}
		if c.pinned {
			j.Execution.OffloadParameters = job.Some(false)
		}
		if got := Joined(j, together); !reflect.DeepEqual(got.Constraints.Execution, c.want) {
			t.Errorf("%v: %v, want %v", c.lists, got.Constraints.Execution, c.want)
		}
	}
}

// TestChosen: lists give way to the values of the plan.
func TestChosen(t *testing.T) {
	j := &job.Job{}
	j.Constraints.Execution = map[string][]string{"loss_chunks": {"1", "8"}, "offload.optimizer": {"true", "false"}}
	p := &plan.Plan{Execution: plan.Execution{LossChunks: 8}}
	got := Chosen(j, p)
	if len(got.Constraints.Execution) != 0 || got.Execution.LossChunks != job.Some(8) || got.Execution.OffloadOptimizer != job.Some(false) {
		t.Errorf("%+v", got.Execution)
	}
	if len(j.Constraints.Execution) != 2 || j.Execution.LossChunks.Set {
		t.Error("the job itself has changed")
	}
	j.Constraints.Execution = map[string][]string{"context_parallel_type": {"ring", "all_gather"}}
	if got := Chosen(j, p); len(got.Constraints.Execution) != 0 || got.Execution.ContextParallelType.Set {
		t.Errorf("%+v of a plan without context parallelism", got.Execution)
	}
	j.Constraints.Execution = map[string][]string{"reshard_after_forward": {"true"}}
	if got := Chosen(j, p); len(got.Constraints.Execution) != 0 || got.Execution.ReshardAfterForward.Set {
		t.Errorf("%+v of a plan whose layout has nothing to reshard", got.Execution)
	}
}

// TestBest: feasible before infeasible, then the objective, then the order.
func TestBest(t *testing.T) {
	input := plan.Input{GPUs: 8}
	a, b, c := &plan.Plan{Input: input}, &plan.Plan{Input: input, Feasible: true}, &plan.Plan{Input: input, Feasible: true}
	a.Time.StepSeconds, b.Time.StepSeconds, c.Time.StepSeconds = 1, 3, 2
	b.Memory.Peak.DeviceBytes, c.Memory.Peak.DeviceBytes = 10, 20
	j := &job.Job{Constraints: job.Constraints{Objective: "throughput"}}
	if got := Best(j, []*plan.Plan{a, b, c, c}); got != 2 {
		t.Errorf("the fastest is %d, want 2", got)
	}
	if got := Best(j, []*plan.Plan{a, a}); got != -1 {
		t.Errorf("of none that fits, it is %d", got)
	}
	j.Constraints.Objective = "memory"
	b.Time.FastestSeconds, c.Time.FastestSeconds = 2.1, 2
	if got := Best(j, []*plan.Plan{a, b, c}); got != 2 {
		t.Errorf("the smallest that is almost as fast is %d, want 2", got)
	}
	b.Time.StepSeconds = 2.1
	if got := Best(j, []*plan.Plan{a, b, c}); got != 1 {
		t.Errorf("the smallest that is almost as fast is %d, want 1", got)
	}
	c.Time.FastestSeconds = 1.95 // 2.1 is more than 5 % longer
	if got := Best(j, []*plan.Plan{a, b, c}); got != 2 {
		t.Errorf("the smallest that is almost as fast as the fastest layout of all is %d, want 2", got)
	}
}

// TestHeld: a size whose least memory takes too long beside the fastest layout of all
// sizes is held against that one, as long as it has layouts that are almost as fast.
func TestHeld(t *testing.T) {
	sized := func(gpus int, step, fastest units.Seconds) *plan.Plan {
		p := &plan.Plan{Feasible: true, Input: plan.Input{GPUs: gpus}}
		p.Time.StepSeconds, p.Time.FastestSeconds = step, fastest
		return p
	}
	plans := []*plan.Plan{sized(8, 10.4, 10), sized(16, 5.4, 5.2), sized(32, 3, 2.9), sized(64, 1.3, 1.29), {}}
	var jobs []*job.Job
	for range plans {
		jobs = append(jobs, &job.Job{})
	}
	for i, j := range Held(jobs, plans) {
		want := units.Seconds(0)
		if i == 1 {
			want = 5 // what takes as long as 10 seconds on 8 GPUs
		}
		if j.Constraints.Fastest != want || want == 0 && j != jobs[i] {
			t.Errorf("size %d is held against %v, want %v", i, j.Constraints.Fastest, want)
		}
		if Alone(j).Constraints.Fastest != 0 {
			t.Errorf("size %d alone is held", i)
		}
	}
	for i := range plans { // as with any other objective
		plans[i].Time.FastestSeconds = 0
	}
	if held := Held(jobs, plans); !slices.Equal(held, jobs) {
		t.Error("jobs are held for no memory")
	}
}

// TestSettled: one job for each size, in order, and the job itself where none is open.
func TestSettled(t *testing.T) {
	j := &job.Job{Cluster: job.Cluster{Nodes: 4}}
	if list := Settled(j); len(list) != 1 || list[0] != j {
		t.Errorf("without a choice: %d jobs", len(list))
	}
	j.NodeCounts = []int{2, 4}
	var got []int
	for _, s := range Settled(j) {
		if s.NodeCounts != nil {
			t.Error("a settled job leaves a choice")
		}
		got = append(got, s.Cluster.Nodes)
	}
	if !slices.Equal(got, j.NodeCounts) {
		t.Errorf("sizes %v, want %v", got, j.NodeCounts)
	}
}

// TestBestSize: throughput is per GPU, time is not, and GPU-hours and cost are those
// of spare nodes, too.
func TestBestSize(t *testing.T) {
	small, large := &plan.Plan{Feasible: true, Input: plan.Input{GPUs: 8}}, &plan.Plan{Feasible: true, Input: plan.Input{GPUs: 16}}
	small.Time.StepSeconds, large.Time.StepSeconds = 10, 6
	for objective, want := range map[string]int{"throughput": 0, "gpu_hours": 0, "cost": 0, "time": 1} {
		j := &job.Job{Constraints: job.Constraints{Objective: objective}}
		if got := Best(j, []*plan.Plan{small, large}); got != want {
			t.Errorf("by %s it is %d, want %d", objective, got, want)
		}
	}
	small.Input.SpareNodes, large.Input.SpareNodes = 1, 1
	for objective, want := range map[string]int{"throughput": 0, "gpu_hours": 1, "cost": 1, "time": 1} {
		j := &job.Job{Cluster: job.Cluster{GPUsPerNode: 8}, Constraints: job.Constraints{Objective: objective}}
		if got := Best(j, []*plan.Plan{small, large}); got != want {
			t.Errorf("with a spare node, by %s it is %d, want %d", objective, got, want)
		}
	}
}

// TestBestSizeWithFailures: the run that is over first counts, not the one with the
// shortest step; one that failures keep from its end is no choice beside another.
func TestBestSizeWithFailures(t *testing.T) {
	j := &job.Job{Cluster: job.Cluster{Reliability: &job.Reliability{}}, Constraints: job.Constraints{Objective: "time"}}
	run := func(step, expected units.Seconds) *plan.Plan {
		return &plan.Plan{Feasible: true, Time: plan.Time{StepSeconds: step}, Run: plan.Run{Checkpoints: &plan.Checkpoints{}, ExpectedSeconds: expected}}
	}
	for _, c := range []struct {
		name  string
		plans []*plan.Plan
		want  int
	}{
		{"more GPUs fail more often", []*plan.Plan{run(4, 500), run(2, 300), run(1, 400)}, 1},
		{"the largest never ends", []*plan.Plan{run(2, 300), run(1, 0)}, 0},
		{"none ends", []*plan.Plan{run(2, 0), run(1, 0)}, 0},
	} {
		if got := Best(j, c.plans); got != c.want {
			t.Errorf("%s: it is %d, want %d", c.name, got, c.want)
		}
	}
	unsaved := []*plan.Plan{run(2, 0), run(1, 0)}
	unsaved[0].Run.Checkpoints, unsaved[1].Run.Checkpoints = nil, nil
	if got := Best(j, unsaved); got != 1 {
		t.Errorf("of runs without checkpoints, of which nothing else is told, it is %d, want the shorter step", got)
	}
}

// TestNearest: of sizes of which none fits, the one that is short of the least is told,
// the largest of equals. Memory that is short counts before any limit, a size
// without legal layouts after all limits, and one on which the job is an error last.
func TestNearest(t *testing.T) {
	of := func(id string, needed, available float64) *plan.Plan {
		return &plan.Plan{Search: plan.Search{Enumerated: 1}, Infeasible: &plan.Infeasible{Reasons: []plan.Reason{{ID: id, Needed: needed, Available: available}}}}
	}
	for _, c := range []struct {
		name  string
		plans []*plan.Plan
		want  int
	}{
		{"GPU-hours grow", []*plan.Plan{of("gpu-hours", 6.7, 5), of("gpu-hours", 7.6, 5)}, 0},
		{"an MFU falls", []*plan.Plan{of("mfu", 0.9, 0.53), of("mfu", 0.9, 0.46)}, 0},
		{"time falls", []*plan.Plan{of("training-time", 3000, 180), of("training-time", 450, 180)}, 1},
		{"shares of communication", []*plan.Plan{of("exposed-communication", 0.06, 0.04), of("exposed-communication", 0.2, 0.19)}, 1},
		{"memory before limits", []*plan.Plan{of("memory", 81, 80), of("host-memory", 81, 80), of("cost", 900, 80)}, 2},
		{"host before GPU", []*plan.Plan{of("memory", 81, 80), of("host-memory", 99, 80), of("memory", 80.5, 80)}, 1},
		{"legal before illegal", []*plan.Plan{of("memory", 200, 80), of("batch-not-divisible", 0, 0)}, 0},
		{"planned before refused", []*plan.Plan{of("batch-not-divisible", 0, 0), {Infeasible: &plan.Infeasible{Reasons: []plan.Reason{{ID: "layout-degree-indivisible"}}}}}, 0},
		{"equals", []*plan.Plan{of("batch-not-divisible", 0, 0), of("batch-not-divisible", 0, 0)}, 1},
	} {
		if got := Nearest(c.plans); got != c.want {
			t.Errorf("%s: the nearest is %d, want %d", c.name, got, c.want)
		}
	}
}
