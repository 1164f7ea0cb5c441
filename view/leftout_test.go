package view

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
)

// TestLeftOut: failures are left out unless the expected time of every feasible plan
// counts them.
func TestLeftOut(t *testing.T) {
	without := &plan.Plan{Feasible: true}
	with := &plan.Plan{Feasible: true, Run: plan.Run{ExpectedSeconds: 1}}
	for _, c := range []struct {
		plans []*plan.Plan
		want  bool
	}{
		{nil, false}, {[]*plan.Plan{without}, false}, {[]*plan.Plan{with}, true}, {[]*plan.Plan{with, without}, false},
		{[]*plan.Plan{with, {}}, true}, {[]*plan.Plan{{}}, false},
	} {
		if got := strings.Contains(LeftOut(c.plans), "but for the expected time"); got != c.want {
			t.Errorf("%d plans: %t", len(c.plans), got)
		}
	}
}
