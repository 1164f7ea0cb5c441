package goodput

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// saving is what an interval that is left to ndc is made of.
type saving struct {
	Interruptions       float64 `json:"interruptions"` // seen on so many GPUs in so many days
	GPUs                float64 `json:"gpus"`
	Days                float64 `json:"days"`
	InterruptionsSource string  `json:"interruptions_source"`
	SaveSeconds         float64 `json:"save_seconds"`  // that training stands still
	MostSeconds         float64 `json:"most_seconds"`  // between two checkpoints
	LeastSeconds        float64 `json:"least_seconds"` // between two that failures ask for
	LeastSource         string  `json:"least_source"`
	PartsOfSubmission   float64 `json:"parts_of_submission"` // checkpoints of one submission at least
	Choice              string  `json:"choice"`
	RestartSeconds      float64 `json:"restart_seconds"` // from a failure to the next step
	RestartSource       string  `json:"restart_source"`
	RestartLeast        float64 `json:"restart_least_seconds"`
	RestartLeastSource  string  `json:"restart_least_source"`
	RestartMost         float64 `json:"restart_most_seconds"`
	RestartMostSource   string  `json:"restart_most_source"`
	// Similar is by what factor the size of a run may differ whose failures tell
	// something of a job's.
	Similar       float64 `json:"similar"`
	SimilarSource string  `json:"similar_source"`
}

//go:embed data/checkpoint.json
var savingData string

var savings = facts.One[saving]("goodput: data/checkpoint.json", savingData)

// Checkpoints says how often a run of a predicted step saves, in steps and in
// time; nil when it saves nothing. It is decided here for all backends: each
// emits the same interval, in the unit that its framework counts.
func Checkpoints(j *job.Job, step units.Seconds) *plan.Checkpoints {
	c := &j.Training.Checkpoint
	if c.Path == "" {
		return nil
	}
	out := &plan.Checkpoints{Given: "steps", IntervalSteps: c.IntervalSteps, IntervalSeconds: units.Seconds(c.IntervalSteps) * step,
		SaveSeconds: units.Rounded(units.Seconds(savings.write(j)))}
	if c.IntervalSteps > 0 {
		return out
	}
	out.Given, out.IntervalSeconds = "time", c.IntervalTime
	if c.IntervalTime == 0 {
		out.Given = "auto"
		out.IntervalSeconds, out.Why = savings.interval(j)
	}
	out.IntervalSteps = j.Training.Steps
	if step > 0 {
		out.IntervalSteps = max(1, min(j.Training.Steps, int(math.Round(float64(units.Rounded(out.IntervalSeconds/step))))))
	}
	return out
}

// Kept is how many checkpoints there are when a run ends, which is saved, too: all of
// them or the last few, or, where an engine keeps those of every so many steps for good,
// these and the last.
func Kept(j *job.Job, c *plan.Checkpoints, every int) int {
	saved := func(interval int) int { return (j.Training.Steps + interval - 1) / interval }
	switch most := j.Training.Checkpoint.KeepLast; {
	case every > 0:
		return saved(every)
	case most > 0:
		return min(saved(c.IntervalSteps), most)
	}
	return saved(c.IntervalSteps)
}

// savesApart is how many times as long as a save a run trains between two at least,
// where failures do not ask for more: caps on what is lost must not make saving cost
// more than they keep. ndc's choice.
const savesApart = 4

// interval is the time between checkpoints when the job leaves it to ndc, in
// whole minutes: sqrt(2·C·M) for the cost C of a save and the mean time M
// between interruptions, which falls with the number of GPUs (Young 1974; Daly
// 2006), but no shorter than five minutes, and no longer than an hour or a part of one
// submission, unless saves would then take more than a fifth of the time.
// It depends on the job alone, so that all backends save alike.
func (s *saving) interval(j *job.Job) (units.Seconds, string) {
	gpus := j.Cluster.GPUs()
	h := s.hazards(j)
	between, save := h.between, h.stall
	best := math.Sqrt(2 * save * between)
	costs := "a minute"
	if save != s.SaveSeconds {
		costs = units.Significant(float64(units.Rounded(save)), 3) + " s"
	}
	why := fmt.Sprintf("saving costs %s, %s are interrupted every %s hours", costs, units.Count(gpus, "GPU"), units.Significant(float64(units.Rounded(between/3600)), 3))
	young := best
	if best < s.LeastSeconds {
		best, why = s.LeastSeconds, "a save costs more than its copy to the hosts"
	}
	if best > s.MostSeconds {
		best, why = s.MostSeconds, "no more than an hour is lost"
	}
	if window := float64(Window(j)) / s.PartsOfSubmission; window > 0 && best > window {
		best, why = window, fmt.Sprintf("at least %.0f checkpoints in each submission", s.PartsOfSubmission)
	}
	if least := min(young, max(savesApart*save, s.lag(j))); best < least && j.Cluster.Storage.Bandwidth > 0 {
		best, why = least, fmt.Sprintf("a save takes %s s", units.Significant(float64(units.Rounded(s.write(j))), 3))
	}
	return units.Seconds(60 * max(1, math.Floor(units.Rounded(best/60)))), why
}
