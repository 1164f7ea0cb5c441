package estimate

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/uncertainty"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestRangesData: every kind of job has a class, ranges enclose the
// prediction, what lies beyond is no narrower, and each says what it stands on.
func TestRangesData(t *testing.T) {
	var ranges []Range
	readJSON("data/ranges.json", &ranges)
	for _, moe := range []bool{false, true} {
		if !slices.ContainsFunc(ranges, func(r Range) bool { return r.MoE == moe && r.GPU == "" && r.Precision == "" }) {
			t.Errorf("no range for any job, experts %v", moe)
		}
	}
	for _, r := range ranges {
		if r.Inside[0] > 1 || r.Inside[1] < 1 || r.Beyond[0] > r.Inside[0] || r.Beyond[1] < r.Inside[1] {
			t.Errorf("%s %s experts %v: %v inside, %v beyond", r.GPU, r.Precision, r.MoE, r.Inside, r.Beyond)
		}
		if r.Rows == 0 || len(r.Measured.GPUTypes) == 0 || r.Measured.GPUs[1] == 0 || r.Source == "" {
			t.Errorf("%s %s experts %v stands on nothing: %+v", r.GPU, r.Precision, r.MoE, r.Measured)
		}
	}
}

// TestClass: the most specific class counts, and a layout beyond it takes the
// wider range with the reason.
func TestClass(t *testing.T) {
	j := &job.Job{}
	j.Cluster.GPU.Catalog, j.Training.Precision, j.Model.SequenceLength = "h100_sxm", "bf16", 4096
	l := &plan.Layout{TensorParallel: 4, ContextParallel: 1, PipelineParallel: 2, ExpertParallel: 1, DataParallelReplicate: 1, DataParallelShard: 8}
	var v uncertainty.Envelope
	v.Add(j, l, "a")
	ranges := []Range{
		{Inside: [2]float64{0.7, 1.3}, Beyond: [2]float64{0.6, 1.4}},
		{GPU: "h100_sxm", Precision: "bf16", Inside: [2]float64{0.9, 1.1}, Beyond: [2]float64{0.8, 1.2}, Measured: v},
		{GPU: "h100_sxm", Inside: [2]float64{0.8, 1.2}, Beyond: [2]float64{0.8, 1.2}},
		{MoE: true, GPU: "h100_sxm", Precision: "bf16"},
	}
	c := Class(ranges, j)
	if span, outside := c.Of(j, l, "a"); span != ranges[1].Inside || outside != nil {
		t.Errorf("inside: %v, %v", span, outside)
	}
	l.DataParallelShard = 512
	if span, outside := c.Of(j, l, "a"); span != ranges[1].Beyond || len(outside) != 1 {
		t.Errorf("beyond: %v, %v", span, outside)
	}
}
