package option

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestUses: what jobs can prefer and avoid is used in one plan and not in another.
func TestUses(t *testing.T) {
	for _, c := range []struct {
		name      string
		l         plan.Layout
		x         plan.Execution
		otherwise plan.Execution
	}{
		{name: "zero_stage", l: plan.Layout{ZeroStage: 1}},
		{name: "micro_batch_size", l: plan.Layout{MicroBatchSize: 2}},
		{name: "recompute", l: plan.Layout{Recompute: plan.RecomputeFull}},
		{name: "pipeline_schedule", l: plan.Layout{PipelineSchedule: plan.Schedule1F1B}},
		{name: "gradient_dtype", x: plan.Execution{GradientDType: "bf16"}, otherwise: plan.Execution{GradientDType: "fp32"}},
		{name: "optimizer_state_dtype", x: plan.Execution{OptimizerStateDType: "fp8"}, otherwise: plan.Execution{OptimizerStateDType: "fp32"}},
		{name: "cross_entropy", x: plan.Execution{CrossEntropy: "fused"}, otherwise: plan.Execution{CrossEntropy: "unfused"}},
		{name: "shard_buffers", x: plan.Execution{ShardBuffers: "double"}, otherwise: plan.Execution{ShardBuffers: "dynamic"}},
		{name: "cuda_graphs", x: plan.Execution{CUDAGraphs: "attention"}, otherwise: plan.Execution{CUDAGraphs: "none"}},
		{name: "loss_chunks", x: plan.Execution{LossChunks: 8}, otherwise: plan.Execution{LossChunks: 1}},
		{name: "compile", x: plan.Execution{Compile: true}},
		{name: Offload, x: plan.Execution{OffloadActivations: true}},
	} {
		if !Uses(c.name, &c.l, &c.x) {
			t.Errorf("%s is not used in %+v, %+v", c.name, c.l, c.x)
		}
		if Uses(c.name, &plan.Layout{MicroBatchSize: 1}, &c.otherwise) {
			t.Errorf("%s is used in %+v", c.name, c.otherwise)
		}
	}
}

// TestPlain: a name of which each value is one that is used says so, or is of an
// axis that a plan may be without.
func TestPlain(t *testing.T) {
	for i := range Options {
		o := &Options[i]
		if o.Kind != Name || o.Name == "context_parallel_type" {
			continue
		}
		plain := slices.Contains(o.Values, none) || slices.Contains(o.Values, o.Plain)
		if plain == o.Always {
			t.Errorf("%s has the plain value %q, and always one: %t", o.Name, o.Plain, o.Always)
		}
	}
}
