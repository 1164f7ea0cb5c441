package memory

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestMegatronCI compares with the allocated peak of the last rank in a
// functional test of Megatron-LM (gpt3_7b_tp1_pp4_memory_speed): interleaved
// pipeline with one layer per chunk, dropout, GELU with biases, learned
// positions.
func TestMegatronCI(t *testing.T) {
	j := &job.Job{Model: job.Model{Layers: 32, HiddenSize: 4096, FFNHiddenSize: 16384, AttentionHeads: 32, KVHeads: 8, HeadDim: 128,
		VocabSize: 131073, SequenceLength: 8192, MaxPositions: 8192, Activation: "gelu", Normalization: "layernorm", Dropout: 0.1,
		AttentionBias: true, MLPBias: true, PositionEmbedding: job.PositionEmbedding{Kind: "learned"}}}
	j.Training.Precision, j.Training.Optimizer.Kind, j.Cluster.GPU.ComputeCapability = "bf16", "adam", "8.0"
	l := &plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 4, VirtualPipeline: 8, PipelineSchedule: plan.ScheduleInterleaved1F1B,
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 2, ZeroStage: 1, MicroBatchSize: 1, MicroBatches: 4}
	mem := New(j, megatronTarget()).Memory(l, &plan.Execution{Attention: "flash", GradientDType: "fp32", OptimizerStateDType: "fp32", CrossEntropy: "unfused", LossChunks: 1})
	got, want := float64(mem.Stages[3].AllocatedBytes)/1e9, 60.4891
	t.Logf("last rank %.2f GB, measured %.2f (%+.1f %%)\n%v", got, want, 100*(got/want-1), mem.Stages[3].Ledger)
	if math.Abs(got/want-1) > 0.025 {
		t.Errorf("last rank %.2f GB, measured %.2f", got, want)
	}
}
