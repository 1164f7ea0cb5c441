package megatron

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestUnasked: what a search may choose by itself of graphs and of the overlap of
// tensor parallelism, for launches like those that are published with it.
func TestUnasked(t *testing.T) {
	const modules = "attention+moe_router+moe_preprocess"
	plain := func(*job.Job, *plan.Layout) {}
	for _, c := range []struct {
		name, option, version, want string
		edit                        func(j *job.Job, l *plan.Layout)
	}{
		{"layers", "cuda_graphs", "core_v0.19.2", "layer", plain},
		{"layers of core_v0.16", "cuda_graphs", "core_v0.16.0", "layer", plain},
		{"no expandable segments", "cuda_graphs", "core_v0.15.3", "", plain},
		{"experts", "cuda_graphs", "core_v0.19.2", modules, func(j *job.Job, l *plan.Layout) { j.Model, l.ExpertParallel = mixtral(), 8 }},
		{"experts of core_v0.15", "cuda_graphs", "core_v0.15.3", "", func(j *job.Job, l *plan.Layout) { j.Model, l.ExpertParallel = mixtral(), 8 }},
		{"rows that the host counts", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { j.Model, j.Training.Precision = mixtral(), "fp8" }},
		{"rows that a dispatcher counts", "cuda_graphs", "core_v0.19.2", modules, func(j *job.Job, l *plan.Layout) {
			j.Model, j.Training.Precision, j.Execution.MoEDispatcher = mixtral(), "fp8", job.Some("hybridep")
		}},
		{"one of the listed dispatchers counts them", "cuda_graphs", "core_v0.19.2", modules, func(j *job.Job, l *plan.Layout) {
			j.Model, j.Training.Precision = mixtral(), "fp8"
			j.Constraints.Execution = map[string][]string{"moe_dispatcher": {"alltoall", "deepep"}}
		}},
		{"Hopper", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { j.Cluster.GPU.ComputeCapability = "9.0" }},
		{"Ampere", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { j.Cluster.GPU.ComputeCapability = "8.0" }},
		{"context parallelism", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { l.ContextParallel = 2 }},
		{"Megatron-FSDP", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { l.ZeroStage = 3 }},
		{"many micro-batches", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { l.PipelineParallel, l.MicroBatches = 2, 1000 }},
		{"many micro-batches, one set", "cuda_graphs", "core_v0.19.2", "layer", func(j *job.Job, l *plan.Layout) { l.PipelineParallel, l.MicroBatches = 1, 1000 }},
		{"hybrid layers", "cuda_graphs", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) { j.Model = nemotronH() }},
		{"user buffers", "overlap_tensor_parallel", "core_v0.19.2", "true", func(j *job.Job, l *plan.Layout) { l.TensorParallel, l.SequenceParallel = 4, true }},
		{"user buffers of mxfp8", "overlap_tensor_parallel", "core_v0.19.2", "true", func(j *job.Job, l *plan.Layout) {
			blackwell(j)
			j.Training.Precision, l.TensorParallel, l.SequenceParallel = "mxfp8", 4, true
		}},
		{"blocks of mxfp8 over two ranks", "overlap_tensor_parallel", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) {
			blackwell(j)
			j.Training.Precision, l.TensorParallel, l.SequenceParallel, j.Model.SequenceLength = "mxfp8", 4, true, 64
		}},
		{"scales of blocks", "overlap_tensor_parallel", "core_v0.19.2", "", func(j *job.Job, l *plan.Layout) {
			j.Training.Precision, j.Training.FP8.Recipe, l.TensorParallel, l.SequenceParallel = "fp8", "blockwise", 4, true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, l := baseJob(c.version), base()
			if c.option == "cuda_graphs" {
				blackwell(j)
			}
			c.edit(j, &l)
			to, diags := Backend{}.Target(j)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			f := target.Facts{Job: j, Layout: &l, Exec: &plan.Execution{}, GPUs: j.Cluster.GPUs()}
			got := ""
			for _, o := range to.Offers {
				if o.Option == c.option && o.Asked == "" && (o.Applies == nil || o.Applies(&f)) {
					for _, value := range o.Values {
						got += value
					}
				}
			}
			if got != c.want {
				t.Errorf("unasked %q, want %q", got, c.want)
			}
		})
	}
}
