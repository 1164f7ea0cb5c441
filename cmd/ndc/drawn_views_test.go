package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"testing"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestDrawnViews: for jobs drawn at random that fit, what is told of their plans beside the
// numbers of the plan itself is what other builds give. Each of the seeds found a fault;
// NDC_VIEWS_SEED and NDC_VIEWS_JOBS draw others.
func TestDrawnViews(t *testing.T) {
	seeds := []int64{56}
	if first, err := strconv.ParseInt(os.Getenv("NDC_VIEWS_SEED"), 10, 64); err == nil {
		seeds = nil
		for n, _ := strconv.ParseInt(os.Getenv("NDC_VIEWS_JOBS"), 10, 64); n > 0; n-- {
			seeds = append(seeds, first)
			first++
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			src := drawLimited(rand.New(rand.NewSource(seed)))
			if c := drawnPlan(t, src); c != nil {
				t.Log(src)
				judgeChoice(t, c)
			}
		})
	}
}

// drawnPlan compiles a drawn job; nil where it fits nowhere, or is refused.
func drawnPlan(t *testing.T, src string) *compiled {
	t.Helper()
	file := t.TempDir() + "/job.hcl"
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	w, diags := loadFrom(disk{}, file, &inputFlags{})
	if diags.HasErrors() {
		return nil
	}
	if _, plans, _ := sketches(compiler.Settled(&w.Jobs[0])); len(plans) != 1 || !plans[0].Feasible {
		return nil // without looking for what would make it fit
	}
	return planOf(t, []byte(src), "")
}

// judgeChoice: --compare tells of a layout that the plan was chosen among the same range as the plan.
func judgeChoice(t *testing.T, c *compiled) {
	for i := range c.plan.Selection.Among {
		one := &c.plan.Selection.Among[i]
		p, why, err := compiler.Fixed(t.Context(), c.job, c.target, &plan.Choice{Layout: one.Layout, Execution: one.Execution})
		if p == nil {
			t.Errorf("contender %d: %s, %v", i, why, err)
			continue
		}
		if d := stepDifference(c, &compiled{job: c.job, target: c.target, plan: p}); d == nil || *d != one.StepDifferenceRange {
			t.Errorf("contender %d takes %v longer, by --compare %v", i, one.StepDifferenceRange, d)
		}
	}
}
