package main

import (
	"fmt"
	"testing"
)

// TestStepDifference: the difference of two plans of one job is less uncertain than
// either of them, holds what they differ by, and is the other way round from the other
// side.
func TestStepDifference(t *testing.T) {
	plan := func(layout string) *compiled {
		return planOf(t, fmt.Appendf(nil, listJob, "dgx_h100", 1, "llama3_8b", 64, "", "layout {\n"+layout+"\n}", "megatron", "core_v0.19.2"), "megatron")
	}
	base, other := plan("tensor_parallel = 1"), plan("tensor_parallel = 4")
	there, back := stepDifference(base, other), stepDifference(other, base)
	if there == nil || back == nil {
		t.Fatal("no difference")
	}
	a, b := &base.plan.Time, &other.plan.Time
	if ratio := float64(b.StepSeconds/a.StepSeconds) - 1; there[0] >= ratio || ratio >= there[1] {
		t.Errorf("%v does not hold %v", *there, ratio)
	}
	if own := float64((b.StepRangeSeconds[1] - b.StepRangeSeconds[0]) / b.StepSeconds); there[1]-there[0] >= own {
		t.Errorf("%v is wider than what is not known of one plan, %v", *there, own)
	}
	if back[0] >= 0 || there[1] <= 0 || (1+there[1])*(1+back[0]) < 0.999 || (1+there[1])*(1+back[0]) > 1.001 {
		t.Errorf("%v there and %v back", *there, *back)
	}
	if d := stepDifference(base, base); d != nil {
		t.Errorf("a plan differs from itself by %v", *d)
	}
}
