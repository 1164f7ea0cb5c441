package memory

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/runtimes"
)

// TestGraphs: graphs of modules have one set of static tensors for every layer and
// every micro-batch in flight, and the gradients of one set of outputs. The stage
// that is looked at has 2 layers, and under 1F1B on two ranks the first stage has
// two micro-batches in flight.
func TestGraphs(t *testing.T) {
	const sequence, hidden, topK = 1024, 512, 2
	stream, mask := int64(2*sequence*hidden), int64(sequence*sequence)
	for _, c := range []struct {
		graphs, dispatcher string
		moe                bool
		static, gradients  int64
	}{
		{"none", "", false, 0, 0},
		{"full", "", false, 0, 0},
		{"attention", "", false, mask, stream},
		{"mlp", "", false, stream, stream},
		{"layer", "", false, stream + mask, stream},
		{"attention", "alltoall", true, mask, stream},
		{"moe_router", "alltoall", true, stream, 3 * stream}, // the shared experts' output is held for the end of the layer
		{"moe_router+moe_preprocess", "alltoall", true, stream + topK*stream, 2*stream + topK*stream},
		{"attention+moe_router+moe_preprocess", "hybridep", true, stream + mask, 3 * stream},
	} {
		j := gpt(hidden, 8, sequence)
		if c.moe {
			j.Model.MoE = &job.MoE{Experts: 8, TopK: topK, ExpertFFNHiddenSize: 512, SharedExperts: 1, SharedExpertFFNHiddenSize: 512}
		}
		target := wholeTarget()
		target.Runtime = runtimes.Whole()
		target.Runtime.Graphs.Masks, target.Runtime.Graphs.SendsCopies = true, true
		l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, PipelineSchedule: plan.Schedule1F1B, StageLayers: []int{2, 2},
			ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 8}
		x := plan.Execution{Attention: "flash", LossChunks: 1, CUDAGraphs: c.graphs, MoEDispatcher: c.dispatcher, GradientDType: "fp32", OptimizerStateDType: "fp32"}
		var got int64
		for _, line := range New(j, target).Memory(&l, &x).Stages[0].Ledger {
			if line.ID == "cuda_graphs" {
				got = int64(line.Bytes)
			}
		}
		if want := 2*2*c.static + c.gradients; got != want {
			t.Errorf("%s with %q: %d bytes, want %d", c.graphs, c.dispatcher, got, want)
		}
	}
}
