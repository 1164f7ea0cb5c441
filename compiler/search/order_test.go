package search

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestOrder: of what is tied with the fastest the one with memory to spare goes
// first, and what is slower by more than the predictions' error stays behind.
func TestOrder(t *testing.T) {
	j := &job.Job{Model: job.Model{SequenceLength: 4096}, Cluster: job.Cluster{Nodes: 1, GPU: job.GPU{Catalog: "h100_sxm", Memory: 80 * units.GiB}}}
	known := func(seconds units.Seconds, gib float64) Known {
		k := Known{Candidate: Candidate{Layout: plan.Layout{TensorParallel: 1, ContextParallel: 1, PipelineParallel: 1, ExpertParallel: 1, DataParallelShard: 8}}}
		k.Result = estimate.Result{StepSeconds: seconds, PeakDeviceBytes: units.Bytes(gib * float64(units.GiB))}
		k.Step.Terms[0] = seconds
		return k
	}
	prior := uncertainty.For(j, "")
	list := []Known{known(1.2, 30), known(1, 75), known(1.01, 50), known(1.25, 30)}
	if got := Order(j, prior, list); !slices.Equal(got, []int{2, 1, 0, 3}) {
		t.Errorf("order %v", got)
	}
	if got := Order(j, prior, nil); len(got) != 0 {
		t.Errorf("order of nothing: %v", got)
	}
}
