package slurm

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/goodput"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// hang is the watch over a run's reports; nil without slurm.hang_timeout.
type hang struct {
	Pauses          int  // times the longest pause is a hang, and Seconds the least; 0 where Seconds is all
	Seconds, Period int  // of silence that is a hang; between two looks
	Chosen          bool // the ranks do not have all nodes of the allocation
}

// What hang_timeout = "auto" takes for a hang; ndc's choice, not a measurement.
const (
	hangLeast   = units.Seconds(600)
	hangReports = 10 // as many times as the plan says that ranks report, at least
	hangPauses  = 5  // as many times as the longest pause
)

// watch reads slurm.hang_timeout. The least that "auto" waits follows from the
// prediction: ten reports, and no less than ten minutes; ten saves and five
// evaluations, too, in which the ranks say nothing.
func watch(j *job.Job, p *plan.Plan) *hang {
	switch t := j.Slurm.HangTimeout; {
	case t.Learned:
		report := units.Seconds(max(1, j.Training.Logging.Interval)) * p.Time.StepSeconds
		least := max(hangLeast, hangReports*report, hangPauses*goodput.Evaluation(j, p.Time.StepSeconds))
		if c := p.Run.Checkpoints; c != nil {
			least = max(least, hangReports*c.SaveSeconds)
		}
		return &hang{Pauses: hangPauses, Seconds: int(math.Ceil(float64(units.Rounded(least)))), Period: 30, Chosen: j.Slurm.SpareNodes > 0}
	case t.Time > 0:
		return &hang{Seconds: int(t.Time), Period: max(1, min(30, int(t.Time)/4)), Chosen: j.Slurm.SpareNodes > 0}
	}
	return nil
}
