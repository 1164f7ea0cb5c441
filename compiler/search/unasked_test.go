package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/estimate"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestTogether: what two options gain that are not chosen unasked is told of both
// at once, where the second needs the first, too; not where one is left.
func TestTogether(t *testing.T) {
	setUp := func() (*job.Job, *target.Target) {
		j, to := smallJob(true, 1), smallTarget()
		open(j, to)
		j.Constraints.Execution = nil
		j.Constraints.Layout.ExpertParallel = job.IntChoice{Values: []int{4}}
		j.Constraints.Layout.TensorParallel = job.IntChoice{Values: []int{2}}
		j.Constraints.Layout.PipelineParallel = job.IntChoice{Values: []int{1}}
		to.Offers = []target.Offer{
			{Option: "overlap_tensor_parallel", Values: []string{"true"}, Asked: "it needs one package"},
			{Option: "overlap_expert_parallel", Values: []string{"true"}, Asked: "it needs another"},
			{Option: "gradient_dtype", Values: []string{"bf16"}}, // which rounds otherwise
		}
		to.Rules = append(to.Rules, target.Rule{ID: "pair", Breaks: func(f *target.Facts) bool {
			return f.Exec.OverlapExpertParallel && !f.Exec.OverlapTensorParallel
		}})
		return j, to
	}
	told := func(j *job.Job, to *target.Target) (best *Candidate, singles, both []Contender) {
		o := searched(j, to)
		if len(o.Best) == 0 {
			t.Fatal("nothing is feasible")
		}
		for _, c := range o.Choice.Among {
			switch {
			case strings.Contains(c.WhyNot, "are not chosen unasked"):
				both = append(both, c)
			case strings.Contains(c.WhyNot, "is not chosen unasked"):
				singles = append(singles, c)
			}
		}
		return &o.Best[0], singles, both
	}
	j, to := setUp()
	best, singles, both := told(j, to)
	if len(both) != 1 {
		t.Fatalf("%d of both, %d of one: %+v", len(both), len(singles), best.Layout)
	}
	c := &both[0]
	want := best.Execution
	want.OverlapTensorParallel, want.OverlapExpertParallel = true, true
	if c.Execution != want {
		t.Errorf("%+v, want both: %+v", c.Execution, want)
	}
	if step := units.Rounded(estimate.New(j, to).Step(&best.Layout, &want)); c.Result.StepSeconds != step {
		t.Errorf("a step of %v, predicted %v", c.Result.StepSeconds, step)
	}
	for _, s := range singles {
		if !s.Execution.OverlapTensorParallel && s.Execution.OverlapExpertParallel {
			t.Errorf("a rule forbids %+v", s.Execution)
		}
		if s.Execution.GradientDType == best.Execution.GradientDType && s.Result.StepSeconds < c.Result.StepSeconds {
			t.Errorf("one alone takes %v, both %v", s.Result.StepSeconds, c.Result.StepSeconds)
		}
	}
	for _, name := range []string{"overlap_tensor_parallel", "overlap_expert_parallel", "it needs one package; it needs another"} {
		if !strings.Contains(c.WhyNot, name) {
			t.Errorf("no %s in %s", name, c.WhyNot)
		}
	}

	j, to = setUp()
	j.Execution.OverlapTensorParallel = job.Some(true)
	if _, singles, both = told(j, to); len(both) != 0 || len(singles) == 0 {
		t.Errorf("one that the job names: %d of both, %d of one", len(both), len(singles))
	}
}

// TestRefusedGain: what a job may not ask for is no gain that it is told of.
func TestRefusedGain(t *testing.T) {
	for _, refused := range []bool{false, true} {
		j, to := smallJob(false, 1), smallTarget()
		to.Offers = []target.Offer{{Option: "gradient_dtype", Values: []string{"bf16"}}}
		to.For = func(j *job.Job) (_ *target.Target, diags diag.List) {
			if refused && j.Execution.GradientDType.Value == "bf16" {
				diags.Error("refused", diag.Range{}, "refused", "refused")
			}
			return to, diags
		}
		told := slices.ContainsFunc(searched(j, to).Choice.Among, func(c Contender) bool { return c.Execution.GradientDType == "bf16" })
		if told == refused {
			t.Errorf("bf16 gradients are refused: %v, told: %v", refused, told)
		}
	}
}
