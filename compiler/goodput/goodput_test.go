package goodput

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

var small = job.Model{Architecture: "llama", Layers: 4, HiddenSize: 1024, FFNHiddenSize: 4096, Attention: job.Attention{Heads: 8, KVHeads: 8, HeadDim: 128}, VocabSize: 32000, SequenceLength: 1024,
	Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}

// failing is a run of 11,400 steps of ten seconds on 16,384 GPUs that saves every
// 114 steps, in some submissions, and what becomes of it.
func failing(r *job.Reliability, jobs int) (*job.Job, *plan.Run) {
	j := &job.Job{Cluster: job.Cluster{Nodes: 2048, GPUsPerNode: 8, Reliability: r}}
	j.Training.Steps, j.Training.Checkpoint = 11400, job.Checkpoint{Path: "/c", IntervalSteps: 114}
	run := plan.Run{Steps: 11400, Seconds: 114000, Jobs: jobs, Checkpoints: Checkpoints(j, 10)}
	expect(j, &run, 10, [2]units.Seconds{9, 11})
	return j, &run
}

// TestSparesCost: nodes to spare are paid for, too. An hour on 4 nodes of 8 GPUs and
// one to spare are 40 GPU-hours.
func TestSparesCost(t *testing.T) {
	j := &job.Job{Cluster: job.Cluster{Nodes: 4, GPUsPerNode: 8, PricePerGPUHour: 2}, Slurm: job.Slurm{SpareNodes: 1}}
	j.Training.Steps = 360
	if r := Run(j, 10, 10, [2]units.Seconds{10, 10}); r.GPUHours != 40 || r.Cost != 80 {
		t.Errorf("%v GPU-hours, %v", r.GPUHours, r.Cost)
	}
}

// TestExpect: with a failure every 11,135 s (Llama 3's rate), of which a restart takes
// 600 s and training 10,535, and a minute for each save, 1,140 s of work take
// 11,135·(exp(1,200/10,535)−1) = 1,343.4 s: a goodput of 84.9 %.
func TestExpect(t *testing.T) {
	_, r := failing(&job.Reliability{}, 1)
	if math.Abs(float64(r.Goodput)-0.8486) > 2e-4 || math.Abs(float64(r.ExpectedSeconds)/114000*0.8486-1) > 3e-4 || math.Abs(r.Failures-float64(r.ExpectedSeconds)/11134.6) > 0.01 {
		t.Errorf("goodput %v, %v s, %v failures", r.Goodput, r.ExpectedSeconds, r.Failures)
	}
	if low, high := r.ExpectedRange[0], r.ExpectedRange[1]; low >= r.ExpectedSeconds || high <= r.ExpectedSeconds || low < 9*11400 {
		t.Errorf("range %v around %v", r.ExpectedRange, r.ExpectedSeconds)
	}
	// Five minutes to train between failures: most pieces of 1,200 s need dozens of attempts.
	if _, r := failing(&job.Reliability{GPUHoursBetweenFailures: 4096, Restart: 600}, 1); r.Goodput > 0.04 || r.ExpectedRange[1] <= r.ExpectedSeconds {
		t.Errorf("range %v around %v s, goodput %v", r.ExpectedRange, r.ExpectedSeconds, r.Goodput)
	}
	never := &job.Reliability{GPUHoursBetweenFailures: 1e15, Restart: 600}
	if _, r := failing(never, 1); math.Abs(float64(r.ExpectedSeconds)-114000-100*60) > 1 {
		t.Errorf("without failures a run takes its saves longer, not %v", r.ExpectedSeconds)
	}
	if _, r := failing(never, 4); math.Abs(float64(r.ExpectedSeconds)-114000-100*60-3*600) > 1 {
		t.Errorf("four submissions start three times more: %v", r.ExpectedSeconds)
	}
	// Behind training a save of ten minutes stops nothing, and a failure loses ten
	// minutes more: 11,135·exp(600/10,535)·(exp(1,140/10,535)−1) = 1,347.1 s.
	behind, r := failing(&job.Reliability{}, 1)
	behind.Model, behind.Training.Checkpoint.Async, behind.Cluster.PCIe.Bandwidth = small, true, 1e30
	behind.Cluster.Storage.Bandwidth = units.BytesPerSecond(checkpointBytes(behind) / 600)
	if expect(behind, r, 10, [2]units.Seconds{9, 11}); math.Abs(float64(r.ExpectedSeconds)/100-1347.1) > 0.1 {
		t.Errorf("a save behind training makes of 1,140 s %v s", r.ExpectedSeconds/100)
	}
	if _, r := failing(nil, 1); r.ExpectedSeconds != 0 {
		t.Error("nothing is said of failures")
	}
	if _, r := failing(&job.Reliability{GPUHoursBetweenFailures: 10}, 1); r.ExpectedSeconds != 0 || r.Goodput != 0 {
		t.Errorf("a run that never ends: %+v", r)
	}
}

// TestLongestStep: with the longest step the run just ends in time, and without
// failures it is the limit's share.
func TestLongestStep(t *testing.T) {
	j, r := failing(&job.Reliability{}, 1)
	limit := Longest(j, 10)
	if limit <= r.ExpectedSeconds || limit >= r.ExpectedRange[1] {
		t.Errorf("the run ends within %v, expected are %v in %v", limit, r.ExpectedSeconds, r.ExpectedRange)
	}
	if got := LongestStep(j, limit); math.Abs(float64(got)-10) > 1e-6 {
		t.Errorf("the longest step is %v, want 10", got)
	}
	j.Cluster.Reliability.GPUHoursBetweenFailures = 1 // a step of any length dies a thousand times
	if got := LongestStep(j, 100); got > 0.01 {
		t.Errorf("a run that never ends may have steps of %v", got)
	}
	j.Cluster.Reliability = nil
	if got := LongestStep(j, 114000); got != 10 {
		t.Errorf("without failures %v, want 10", got)
	}
}

// TestStall: a save takes its bytes over the slower of all storage and what the nodes
// can write; behind training, over the links to the hosts.
func TestStall(t *testing.T) {
	j := &job.Job{Model: small, Cluster: job.Cluster{Nodes: 2, GPUsPerNode: 8}}
	if got := savings.stall(j); got != 60 {
		t.Errorf("without storage %v s", got)
	}
	j.Training.Optimizer.Kind = "adamw"
	weights := checkpointBytes(j)
	j.Training.Checkpoint.SaveOptimizer = true
	if got := checkpointBytes(j) / weights; got != 7 {
		t.Errorf("the optimizer makes a checkpoint %v times as large, want 14 bytes for 2", got)
	}
	j.Cluster.Storage = job.Storage{Bandwidth: 10e9}
	if got := savings.stall(j); got != 7*weights/10e9 {
		t.Errorf("over the storage %v s", got)
	}
	j.Cluster.Storage.PerNode = 1e9
	if got := savings.stall(j); got != 7*weights/2e9 {
		t.Errorf("from two nodes %v s", got)
	}
	j.Training.Checkpoint.Async, j.Cluster.PCIe.Bandwidth = true, 1e9
	if got := savings.stall(j); got != 7*weights/16e9 {
		t.Errorf("to the hosts %v s", got)
	}
}
