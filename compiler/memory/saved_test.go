package memory

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestCheckpointBytes: of every parameter a checkpoint has 14 bytes with Adam where
// weights of 16 bits stand beside their fp32 masters, 12 where the masters are all, and
// no more for ranks that share a layer. What real checkpoints take stands in
// docs/slurm.md.
func TestCheckpointBytes(t *testing.T) {
	full := runtimes.Whole()
	for _, c := range []struct {
		name      string
		runtime   runtime.Runtime
		precision string
		zero      int
		x         plan.Execution
		change    func(*job.Job)
		want      float64 // bytes for each parameter
	}{
		{"weights beside masters", full, "bf16", 1, plan.Execution{}, nil, 2 + 4 + 8},
		{"fp32", full, "fp32", 1, plan.Execution{}, nil, 4 + 8},
		{"fp32 in buckets", runtimes.Buckets(), "fp32", 0, plan.Execution{}, nil, 4 + 8},
		{"fp32 cut in buckets", runtimes.Buckets(), "fp32", 1, plan.Execution{}, nil, 4 + 4 + 8},
		{"masters alone", runtimes.Blocks(), "bf16", 3, plan.Execution{}, nil, 4 + 8},
		{"whole weights in buckets", runtimes.Buckets(), "bf16", 2, plan.Execution{}, nil, 2 + 4 + 8},
		{"weights cut in buckets", runtimes.Buckets(), "bf16", 3, plan.Execution{}, nil, 4 + 8},
		{"fully sharded", full, "bf16", 3, plan.Execution{FullySharded: true}, nil, 4 + 8},
		{"small moments, written in fp32", full, "bf16", 1, plan.Execution{OptimizerStateDType: "bf16"}, nil, 2 + 4 + 8},
		{"small moments, written as they are", runtimes.Blocks(), "bf16", 3, plan.Execution{OptimizerStateDType: "bf16"}, nil, 4 + 4},
		{"weights", full, "bf16", 1, plan.Execution{}, func(j *job.Job) { j.Training.Checkpoint.SaveOptimizer = false }, 2},
		{"momentum", full, "bf16", 1, plan.Execution{}, func(j *job.Job) { j.Training.Optimizer.Kind, j.Training.Optimizer.Momentum = "sgd", 0.9 }, 2 + 4 + 4},
	} {
		j := gpt(2048, 16, 1024)
		j.Training.Precision, j.Training.Checkpoint = c.precision, job.Checkpoint{Path: "/c", SaveOptimizer: true}
		if c.change != nil {
			c.change(j)
		}
		m := New(j, targetOf(c.runtime))
		for _, tensor := range []int{1, 4} {
			got := m.CheckpointBytes(&plan.Layout{ZeroStage: c.zero, TensorParallel: tensor, DataParallelShard: 8}, &c.x)
			if want := c.want * float64(m.arch.ParametersTotal()); float64(got) != want {
				t.Errorf("%s, %d tensor ranks: %d bytes, want %.0f", c.name, tensor, got, want)
			}
		}
	}
	// of four layers and two of multi-token prediction with a projection of 2h to h: 4h² for
	// attention and 8h² for the feed-forward network each
	for mtp, matrices := range map[int]int64{0: 4 * 12, 2: 6*12 + 2*2} {
		j := gpt(2048, 16, 1024)
		j.Model.MTP.Layers, j.Training.Checkpoint = mtp, job.Checkpoint{Path: "/c", SaveOptimizer: true}
		j.Training.Optimizer.Kind = "muon"
		m := New(j, targetOf(full))
		want := 14*(m.arch.ParametersTotal()+m.arch.ParametersMTP()) - 4*matrices*2048*2048
		if got := int64(m.CheckpointBytes(&plan.Layout{ZeroStage: 1}, &plan.Execution{})); got != want {
			t.Errorf("muon, %d layers of multi-token prediction: %d bytes, want %d", mtp, got, want)
		}
	}
}
