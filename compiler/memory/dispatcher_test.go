package memory

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestDispatcherBuffers: what HybridEP and DeepEP hold for rows of 7,168 elements and
// 256 experts, 4,096 tokens a rank, by the formulas of their sources.
func TestDispatcherBuffers(t *testing.T) {
	const row = 2 * 7168
	for _, c := range []struct {
		dispatcher    string
		domain, ranks int
		want          float64
	}{
		{"alltoall", 72, 64, 0},
		{"hybridep", 72, 64, 64 * 4096 * (row + 4*56 + 4*256)},
		{"hybridep", 8, 16, 16*4096*(row+4*56+4*128) + 4096*(row+4*56+4*256+3*(row+4*128)+4*56)},
		{"deepep", 8, 8, 10 * 8 * 256 * (row + 128*16 + 8)},
		{"deepep", 8, 64, 10*8*288*(row+128*16+8) + 1<<29},
		{"deepep", 8, 40, 0}, // which it refuses
	} {
		j := &job.Job{Model: job.Model{Layers: 2, HiddenSize: 7168, FFNHiddenSize: 18432, Attention: job.Attention{Heads: 128, KVHeads: 128, HeadDim: 128},
			VocabSize: 32000, SequenceLength: 4096, Activation: job.Activation{Kind: "swiglu"}, Norm: job.Norm{Kind: "rmsnorm"}, PositionEmbedding: job.PositionEmbedding{Kind: "rope"},
			MoE: &job.MoE{Experts: 256, TopK: 8, ExpertFFNHiddenSize: 2048}}}
		j.Training.Precision, j.Training.Optimizer.Kind, j.Cluster.NVLink.Domain = "bf16", "adam", c.domain
		r := runtimes.Whole()
		r.Experts.ChunkedExchange = true
		l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: c.ranks, ExpertTensorParallel: 1,
			DataParallelReplicate: 1, DataParallelShard: c.ranks, MicroBatchSize: 1, MicroBatches: 1}
		x := plan.Execution{MoEDispatcher: c.dispatcher}
		m := New(j, targetOf(r))
		s := m.shapeOf(&l, &x)
		if got := m.dispatcherBuffers(&s); got != c.want {
			t.Errorf("%s among %d ranks, %d in a domain: %.0f bytes, want %.0f", c.dispatcher, c.ranks, c.domain, got, c.want)
		}
	}
}
