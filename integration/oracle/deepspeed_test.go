package oracle

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

const deepspeedFile = "../../testdata/oracle/deepspeed.jsonl"

// TestDeepSpeed holds plans against what every rank holds after
// deepspeed.initialize, to the element: the lines of memory, and the volumes of
// communication, which tell experts from the rest and name what shards are cut
// from.
func TestDeepSpeed(t *testing.T) {
	cases, err := Read[Partition](deepspeedFile)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name(), func(t *testing.T) {
			_, p, err := c.Plan()
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Answers) != c.World() {
				t.Fatalf("%d of %d ranks are recorded", len(c.Answers), c.World())
			}
			want := partition(t, p)
			for rank, got := range c.Answers {
				if got != want {
					t.Errorf("rank %d holds %+v, planned are %+v", rank, got, want)
				}
			}
		})
	}
}

// partition is what a plan says that a rank holds.
func partition(t *testing.T, p *plan.Plan) Partition {
	t.Helper()
	s, l := &p.Memory.Stages[0], &p.Layout
	out := Partition{Parameters: elements(t, Line(s, "parameters"), 2), Optimizer: elements(t, Line(s, "master_parameters"), 4)}
	dense, experts := reduced(t, p)
	others, spread := dense, l.ExpertParallel > 1 // what a rank holds apart from experts
	if l.ZeroStage == 3 {
		others /= int64(l.DataParallelShard * l.ContextParallel)
	}
	if spread && l.DataParallel() == l.ExpertParallel { // no two ranks share an expert, nothing is reduced
		experts = out.Parameters - others
	}
	if spread {
		out.Experts = out.Parameters - others
	}
	whole := dense + experts
	switch {
	case l.ZeroStage == 3:
		// Models of less than stage3_max_live_parameters stay gathered as a whole.
		out.Whole, out.Secondary = whole, elements(t, Line(s, "gathered_parameters"), 2)-whole
		if spread {
			out.WholeExperts = experts
		}
	case l.DataParallel() > 1 && whole != out.Parameters:
		t.Errorf("gradients of %d elements are reduced, %d are held", whole, out.Parameters)
	}
	return out
}

// reduced is how many gradients a rank reduces, of experts where they have a
// group of their own and of all others: once a step, from stage 2 on with every
// micro-batch.
func reduced(t *testing.T, p *plan.Plan) (dense, experts int64) {
	t.Helper()
	width := map[string]int64{"fp32": 4, "bf16": 2}[p.Execution.GradientDType]
	if p.Layout.ZeroStage >= 2 {
		width *= int64(p.Layout.MicroBatches)
	}
	group, collective := "data_parallel_shard", "all_reduce"
	switch p.Layout.ZeroStage {
	case 0:
		group = "data_parallel_replicate"
	case 3:
		collective = "reduce_scatter"
	}
	return elements(t, volume(p, group, collective), width), elements(t, volume(p, "expert_data_parallel", collective), width)
}

// elements divides bytes by the width of an element, without a rest.
func elements(t *testing.T, bytes, width int64) int64 {
	t.Helper()
	if bytes%width != 0 {
		t.Errorf("%d bytes are no elements of %d", bytes, width)
	}
	return bytes / width
}

// volume is what a rank sends in a step by one collective; 0 where it does not.
func volume(p *plan.Plan, group, collective string) int64 {
	i := slices.IndexFunc(p.Communication, func(c plan.Communication) bool { return c.Group == group && c.Collective == collective })
	if i < 0 {
		return 0
	}
	return int64(p.Communication[i].Bytes)
}
