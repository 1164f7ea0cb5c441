package compiler

import (
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestTimeReason: a run without a word on failures is said to take its time, once; that
// of the plan has fewer digits than what is computed.
func TestTimeReason(t *testing.T) {
	j := &job.Job{}
	j.Training.Steps = 119210
	j.Constraints.MaxTrainingTime = job.Some(units.Seconds(864000))
	p := &plan.Plan{}
	p.Time.StepSeconds, p.Run.Steps = 16.6137123456, 119210
	for _, share := range []units.Seconds{1 - 1e-9, 1, 1 + 1e-9} {
		p.Run.Seconds = goodput.Longest(j, p.Time.StepSeconds) * share
		var r plan.Reason
		timeReason(j, p, &r)
		if strings.Contains(r.Summary, "failures") || !strings.Contains(r.Summary, " take 22-") {
			t.Error(r.Summary)
		}
	}
}
