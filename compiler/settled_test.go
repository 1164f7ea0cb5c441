package compiler

import (
	"fmt"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestSettled: every combination once, in order.
func TestSettled(t *testing.T) {
	j := &job.Job{Sources: job.Sources{}}
	if list := Settled(j); len(list) != 1 || list[0] != j {
		t.Errorf("without a choice: %d jobs", len(list))
	}
	whole := Digest(j)
	j.Constraints.Execution = map[string][]string{"loss_chunks": {"1", "8"}, "moe_dispatcher": {"alltoall", "deepep"}, "offload.optimizer": {"true", "false"}}
	if Digest(j) == whole {
		t.Error("a choice is no part of the input")
	}
	var got string
	for _, s := range Settled(j) {
		got += fmt.Sprintln(s.Execution.LossChunks.Value, s.Execution.MoEDispatcher.Value, s.Execution.OffloadOptimizer)
		if s.Constraints.Execution != nil {
			t.Error("a settled job leaves a choice")
		}
	}
	want := `1 alltoall {true true}
1 alltoall {false true}
1 deepep {true true}
1 deepep {false true}
8 alltoall {true true}
8 alltoall {false true}
8 deepep {true true}
8 deepep {false true}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
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
	if got := Best(j, []*plan.Plan{a, b, c}); got != 2 {
		t.Errorf("the smallest that is almost as fast is %d, want 2", got)
	}
	b.Time.StepSeconds = 2.1
	if got := Best(j, []*plan.Plan{a, b, c}); got != 1 {
		t.Errorf("the smallest that is almost as fast is %d, want 1", got)
	}
}

// TestSettledNodes: sizes come first, in order, and leave nothing open.
func TestSettledNodes(t *testing.T) {
	j := &job.Job{NodeCounts: []int{2, 4}, Cluster: job.Cluster{Nodes: 4}}
	j.Constraints.Execution = map[string][]string{"loss_chunks": {"1", "8"}}
	var got string
	for _, s := range Settled(j) {
		got += fmt.Sprintln(s.Cluster.Nodes, s.Execution.LossChunks.Value, s.NodeCounts)
	}
	if want := "2 1 []\n2 8 []\n4 1 []\n4 8 []\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestBestSize: throughput is per GPU, time is not.
func TestBestSize(t *testing.T) {
	small, large := &plan.Plan{Feasible: true, Input: plan.Input{GPUs: 8}}, &plan.Plan{Feasible: true, Input: plan.Input{GPUs: 16}}
	small.Time.StepSeconds, large.Time.StepSeconds = 10, 6
	for objective, want := range map[string]int{"throughput": 0, "gpu_hours": 0, "cost": 0, "time": 1} {
		j := &job.Job{Constraints: job.Constraints{Objective: objective}}
		if got := Best(j, []*plan.Plan{small, large}); got != want {
			t.Errorf("by %s it is %d, want %d", objective, got, want)
		}
	}
}
