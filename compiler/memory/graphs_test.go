package memory

import (
	"math"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/runtime"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
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

// TestStaticExperts: experts that drop no token have buffers of one layer in the
// graph of a whole step, and pages for every layer and micro-batch in flight,
// whatever their load is. A tenth of the pages is in host memory.
func TestStaticExperts(t *testing.T) {
	const (
		sequence, hidden, width, topK = 1024, 512, 256, 2
		rows                          = 3 * 256                        // 1,024 · 2 / 4 · 1.3 = 665.6, in multiples of 256
		row                           = 2*hidden + 2*2*width + 2*width // what goes in, gate and up, what goes out of the activation
		buffer                        = rows * row
		pages                         = 2 * 2 * (buffer * 10 / 13) // 2 layers, 2 micro-batches in flight
	)
	memory := func(edit func(*job.MoE)) plan.Memory {
		j := gpt(hidden, 8, sequence)
		j.Model.Activation.Kind = "swiglu"
		j.Model.MoE = &job.MoE{Experts: 8, TopK: topK, ExpertFFNHiddenSize: width}
		edit(j.Model.MoE)
		target := wholeTarget()
		target.Runtime = runtimes.Whole()
		target.Runtime.Experts.Static = runtime.StaticExperts{Capacity: 1.3, RowMultiple: 256, Pages: 1, HostPages: 0.1}
		l := plan.Layout{TensorParallel: 4, SequenceParallel: true, ContextParallel: 1, PipelineParallel: 2, VirtualPipeline: 1, PipelineSchedule: plan.Schedule1F1B, StageLayers: []int{2, 2},
			ExpertParallel: 4, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 8}
		x := plan.Execution{Attention: "flash", LossChunks: 1, CUDAGraphs: "full", MoEDispatcher: "hybridep", GradientDType: "fp32", OptimizerStateDType: "fp32"}
		return New(j, target).Memory(&l, &x)
	}
	balanced := memory(func(*job.MoE) {})
	line := func(m *plan.Memory, id string) (bytes int64) {
		for _, l := range append(m.Stages[0].Ledger, m.Host.Ledger...) {
			if l.ID == id {
				bytes = int64(l.Bytes)
			}
		}
		return bytes
	}
	if got := line(&balanced, "cuda_graphs"); got != pages+buffer {
		t.Errorf("%d bytes in buffers and pages, want %d", got, pages+buffer)
	}
	// A tenth of 2 · 2 · 3 · 256 / 1.3 rows in three pinned buffers, each a power of two.
	const spilled = 1<<18 + 1<<18 + 1<<17 // of 241,979, 241,979 and 120,989 bytes
	if got, want := line(&balanced, "expert_pages"), int64(max(1, gpt(hidden, 8, sequence).Cluster.GPUsPerNode)*spilled); got != want {
		t.Errorf("%d bytes of pages on the host, want %d", got, want)
	}
	if got, want := line(&balanced, "activations_experts"), int64(2*sequence/4*8*17); got != want { // the router's, of the micro-batch that is left at the peak
		t.Errorf("%d bytes beside the pages, want %d", got, want)
	}
	// 2 of 8 experts on each of 4 ranks, 2 of them for each of 1,024 tokens, and a
	// router from random weights: the largest of 4 ranks in 4 layers, with 2 · 128 rows
	// of padding.
	spread := math.Sqrt((0.37*0.37 + (8./2-1)/1024) / 2 * 6 / 7)
	if got, want := *balanced.ExpertRows, (plan.ExpertRows{Buffer: 1.3, Busiest: units.Rounded(1 + spread*math.Sqrt(2*math.Log(4*4)) + 256./512)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	uneven := memory(func(e *job.MoE) { e.LoadImbalance = 1.2 })
	if got, want := uneven.ExpertRows.Busiest, 1.2+256./512; got != want {
		t.Errorf("the busiest rank gets %v, want %v", got, want)
	}
	if uneven.Peak != balanced.Peak {
		t.Errorf("%+v with uneven experts, %+v without", uneven.Peak, balanced.Peak)
	}
	dropped := memory(func(e *job.MoE) { e.TokenDrop, e.CapacityFactor = true, 1 })
	if got := line(&dropped, "cuda_graphs"); got != 0 {
		t.Errorf("%d bytes in buffers although tokens are dropped", got)
	}
}

// TestGraphsAreUncertain: memory of graphs that nobody has published widens what a
// rank that is nearly full may run out of, and nothing else.
func TestGraphsAreUncertain(t *testing.T) {
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, PipelineSchedule: plan.ScheduleNone, StageLayers: []int{4},
		ExpertParallel: 1, ExpertTensorParallel: 1, DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 8}
	peak := func(graphs string, share float64) Peak {
		j, target := gpt(512, 8, 1024), wholeTarget()
		target.Runtime = runtimes.Whole()
		x := plan.Execution{Attention: "flash", LossChunks: 1, CUDAGraphs: graphs, GradientDType: "fp32", OptimizerStateDType: "fp32"}
		j.Cluster.GPU.Memory = units.Bytes(float64(New(j, target).Peak(&l, &x).Device) / share)
		return New(j, target).Peak(&l, &x)
	}
	spread := func(graphs string, share float64) float64 {
		p := peak(graphs, share)
		return p.Uncertain.Spread
	}
	if plain, got := spread("none", 0.9), spread("layer", 0.9); got <= plain {
		t.Errorf("spread %v, without graphs %v", got, plain)
	}
	if plain, got := spread("none", 0.5), spread("layer", 0.5); got != plain {
		t.Errorf("with memory to spare, spread %v, without graphs %v", got, plain)
	}
	needs := func(graphs string) float64 {
		p := peak(graphs, 0.9)
		return float64(p.Needed) / float64(p.Device)
	}
	if needs("layer") <= needs("none") {
		t.Errorf("%v of the peak has to be usable, without graphs %v", needs("layer"), needs("none"))
	}
}

// TestGraphsOffload: what a graph of modules keeps stays on the GPU, and what the
// experts keep goes to the host, which are launched outside of graphs: the rows that
// they are sent, and what their first GEMM makes of them.
func TestGraphsOffload(t *testing.T) {
	const sequence, hidden, topK, width = 1024, 512, 2, 256
	j := gpt(hidden, 8, sequence)
	j.Model.MoE = &job.MoE{Experts: 8, TopK: topK, ExpertFFNHiddenSize: width, SharedExperts: 1, SharedExpertFFNHiddenSize: 512}
	l := plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, VirtualPipeline: 1, ExpertParallel: 1, ExpertTensorParallel: 1,
		DataParallelReplicate: 1, DataParallelShard: 1, MicroBatchSize: 1, MicroBatches: 8}
	x := plan.Execution{Attention: "flash", LossChunks: 1, CUDAGraphs: "attention+moe_router", MoEDispatcher: "alltoall", GradientDType: "fp32", OptimizerStateDType: "fp32", OffloadActivations: true}
	m := New(j, wholeTarget())
	if got, want := m.Offloaded(&l, &x, 0), units.Bytes(2*sequence*topK*(hidden+width)); got != want {
		t.Errorf("beside graphs %d bytes are offloaded, want %d", got, want)
	}
	eager := x
	eager.CUDAGraphs = "none"
	if all, part := m.Offloaded(&l, &eager, 0), m.Offloaded(&l, &x, 0); all <= part {
		t.Errorf("graphs offload %d bytes, no graphs %d", part, all)
	}
	if with, without := m.Peak(&l, &x).Allocated, m.Peak(&l, &eager).Allocated; with <= without {
		t.Errorf("%d bytes with what graphs keep, %d without", with, without)
	}
}
