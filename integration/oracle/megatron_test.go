package oracle

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"

	_ "github.com/ndc-dev/ndc/tools/seldom"
)

const megatronFile = "../../testdata/oracle/megatron.jsonl"

// TestMegatron holds the memory ledgers of plans against what Megatron-LM's
// own code built: layers of every chunk, parameters, gradient buffers and
// optimizer shards, to the element. The ledger leaves out the padding of
// buckets, at most one element in ten thousand: tensors begin at multiples of
// 64 elements, buckets are multiples of their ranks. Shards may differ by it.
func TestMegatron(t *testing.T) {
	cases, err := Read[Built](megatronFile)
	if err != nil {
		t.Fatal(err)
	}
	ranks := 0
	for i := range cases {
		c := &cases[i]
		if len(c.Answers) == 0 {
			t.Errorf("%s: not recorded", c.Name())
		}
		j, p, err := c.Plan()
		if err != nil {
			t.Errorf("%s: %v", c.Name(), err)
			continue
		}
		for k := range c.Answers {
			ranks++
			compareBuilt(t, c, &c.Answers[k], j, p)
		}
	}
	t.Logf("%d ranks of %d layouts", ranks, len(cases))
}

// compareBuilt compares one rank. Parameters are two bytes each, gradients and
// the optimizer's copies four.
func compareBuilt(t *testing.T, c *Case[Built], a *Built, j *job.Job, p *plan.Plan) {
	t.Helper()
	stage := Stage(p, a.Rank)
	s := &p.Memory.Stages[stage]
	layers := slices.Clone(s.Layers)
	if stage == p.Layout.PipelineParallel-1 {
		layers[len(layers)-1] += j.Model.MTP.Layers * max(len(j.Model.MTP.LayerPattern), 1)
	}
	if !slices.Equal(layers, a.Layers) {
		t.Errorf("%s rank %d: layers %v, want %v", c.Name(), a.Rank, layers, a.Layers)
	}
	parameters := Line(s, "parameters") / 2
	if parameters != a.Parameters {
		t.Errorf("%s rank %d: %d parameters, want %d (%+d)", c.Name(), a.Rank, parameters, a.Parameters, parameters-a.Parameters)
	}
	if gradients := Line(s, "gradients") / 4; gradients != a.Parameters {
		t.Errorf("%s rank %d: gradients of %d elements, want %d", c.Name(), a.Rank, gradients, a.Parameters)
	}
	padding := -a.Parameters
	for _, b := range a.Buffers {
		padding += b.Elements
	}
	if padding < 0 || padding*10000 > a.Parameters {
		t.Errorf("%s rank %d: buffers pad %d parameters by %d", c.Name(), a.Rank, a.Parameters, padding)
	}
	shard := Line(s, "master_parameters") / 4
	if d := shard - a.Optimizer; max(d, -d) > padding {
		t.Errorf("%s rank %d: optimizer shard of %d elements, want %d (padding %d)", c.Name(), a.Rank, shard, a.Optimizer, padding)
	}
}
