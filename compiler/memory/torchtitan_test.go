package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// titan predicts a TorchTitan row: Llama 3 8B, fully sharded, one projection
// each for q, k and v, the whole loss at once, not compiled.
func (r *row) titan() plan.Memory {
	j := &job.Job{Model: job.Model{Layers: 32, HiddenSize: 4096, FFNHiddenSize: 14336, Attention: job.Attention{Heads: 32, KVHeads: 8, HeadDim: 128}, VocabSize: 128256,
		SequenceLength: r.Model.SeqLen, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"}}}
	j.Training.Precision, j.Training.Optimizer.Kind = "bf16", "adamw"
	j.Cluster.GPUsPerNode, j.Cluster.GPU.ComputeCapability = 8, "9.0"
	l := &plan.Layout{TensorParallel: r.Layout.TP, SequenceParallel: r.Layout.TP > 1, ContextParallel: r.Layout.CP, PipelineParallel: 1, VirtualPipeline: 1,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: r.Layout.DP, ZeroStage: 3,
		MicroBatchSize: r.Layout.MBS, MicroBatches: 1, Recompute: plan.RecomputeSelective, RecomputeModules: plan.ModuleOperators}
	if r.Layout.Recompute.Mode == "full" {
		l.Recompute, l.RecomputeMethod, l.RecomputeLayers, l.RecomputeModules = plan.RecomputeFull, "uniform", 1, 0
	}
	tg := targetOf(runtimes.Blocks())
	tg.Runtime.Recompute.KeepsReduceScatter, tg.Runtime.TensorParallel.WholeEmbeddingGradient, tg.PaddedVocab = true, true, nil
	x := &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused",
		LossChunks: 1, ContextParallelType: "ring", ReshardAfterForward: true}
	return New(j, tg).Memory(l, x)
}

// TestTorchTitanReserved compares with the reserved memory that torchtitan's
// published runs of 8B report on H100 (benchmarks of December 2024). Runs that
// leave defaults unsaid are tools/accuracy's.
func TestTorchTitanReserved(t *testing.T) {
	var errors []float64
	var table strings.Builder
	for _, r := range readRows(t, "torchtitan.jsonl") {
		if r.Measured.Peak == 0 || r.Layout.MBS == 0 || r.Layout.Recompute.Mode == "" {
			continue
		}
		got := float64(r.titan().Peak.ReservedBytes) / (1 << 30)
		errors = append(errors, got/r.Measured.Peak-1)
		fmt.Fprintf(&table, "%-28s %.1f predicted %.1f (%+.1f %%)\n", r.ID, r.Measured.Peak, got, 100*(got/r.Measured.Peak-1))
	}
	report(t, table.String(), errors, 0.06, 0.12)
}
