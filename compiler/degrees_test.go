package compiler

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// cuttable is a job of 56 GPUs with a model of 64 heads and 8 experts.
func cuttable(layout job.LayoutConstraints) *job.Job {
	j := &job.Job{Model: job.Model{Attention: job.Attention{Heads: 64}, SequenceLength: 4096, Layers: 40, MoE: &job.MoE{Experts: 8}}}
	j.Cluster.Nodes, j.Cluster.GPUsPerNode = 7, 8
	j.Constraints.Layout = layout
	return j
}

// TestDegrees: a degree of which no allowed value divides what it cuts is
// reported with the number that it does not divide and the nearest that do.
func TestDegrees(t *testing.T) {
	one := func(n ...int) job.IntChoice { return job.IntChoice{Values: n} }
	for _, c := range []struct {
		name   string
		layout job.LayoutConstraints
		want   string
	}{
		{"experts", job.LayoutConstraints{ExpertParallel: one(7)}, "expert_parallel = 7 cannot cut 8 experts into equal parts. The nearest that divide 8 experts and 56 GPUs are 4 and 8."},
		{"more than experts", job.LayoutConstraints{ExpertParallel: one(14)}, "cannot cut 8 experts into equal parts. The largest that divides 8 experts and 56 GPUs is 8."},
		{"heads", job.LayoutConstraints{TensorParallel: one(7)}, "tensor_parallel = 7 cannot cut 64 attention heads into equal parts. The nearest that divide 64 attention heads and 56 GPUs are 4 and 8."},
		{"GPUs", job.LayoutConstraints{TensorParallel: one(16)}, "tensor_parallel = 16 cannot cut 56 GPUs into equal parts. The largest that divides 64 attention heads and 56 GPUs is 8."},
		{"heads for some, GPUs for others", job.LayoutConstraints{TensorParallel: one(7, 16)}, "tensor_parallel = [7, 16] cannot cut 56 GPUs"},
		{"a sequence", job.LayoutConstraints{ContextParallel: one(3)}, "context_parallel = 3 cannot cut 4096 tokens into equal parts. The nearest that divide 4096 tokens and 56 GPUs are 2 and 4."},
		{"stages", job.LayoutConstraints{PipelineParallel: one(5)}, "pipeline_parallel = 5 cannot cut 56 GPUs into equal parts. The nearest that divide 56 GPUs are 4 and 7."},
		{"a range between divisors", job.LayoutConstraints{DataParallelShard: job.IntChoice{Ranged: true, Min: 9, Max: 13}}, "The nearest that divide 56 GPUs are 8 and 14."},
		{"a range with one", job.LayoutConstraints{DataParallelShard: job.IntChoice{Ranged: true, Min: 9, Max: 14}}, ""},
		{"a list with one", job.LayoutConstraints{TensorParallel: one(3, 8)}, ""},
		{"nothing asked", job.LayoutConstraints{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			diags := checkDegrees(cuttable(c.layout))
			switch {
			case c.want == "" && len(diags) > 0:
				t.Errorf("%v", diags)
			case c.want != "" && (len(diags) != 1 || !strings.Contains(diags[0].Detail, c.want)):
				t.Errorf("%v, want %q", diags, c.want)
			}
		})
	}
}
