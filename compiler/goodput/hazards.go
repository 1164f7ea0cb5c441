package goodput

import (
	_ "embed" // for data/failures.jsonl
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/facts"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// hazards is what failures and saves of a run take, in seconds.
type hazards struct {
	between float64 // from one failure to the next, the restart included: as operators count them
	restart float64 // from a failure to the next step
	stall   float64 // that training stands still for a save
	lag     float64 // until a save behind training counts
	steps   float64 // of the whole batch
}

// failureRate is how often a published run failed.
type failureRate struct {
	Run      string  `json:"run"`
	GPUs     float64 `json:"gpus"`
	GPUHours float64 `json:"gpu_hours"` // between failures
	Source   string  `json:"source"`
}

//go:embed data/failures.jsonl
var failureData string

var failureRates = facts.Lines[failureRate]("goodput: data/failures.jsonl", failureData)

// hazards are those that a job says, or what is usual.
func (s *saving) hazards(j *job.Job) hazards {
	h := hazards{between: s.Days * 24 * 3600 * s.GPUs / s.Interruptions, restart: float64(StartSeconds(j)), stall: s.stall(j), lag: s.lag(j), steps: j.Training.WholeSteps()}
	if r := j.Cluster.Reliability; r != nil && r.GPUHoursBetweenFailures > 0 {
		h.between = r.GPUHoursBetweenFailures * 3600
	}
	h.between /= float64(max(1, j.Cluster.GPUs()))
	return h
}

// around are the best and the worst of what published runs of a similar size met,
// in what a job leaves open.
func (s *saving) around(j *job.Job) (best, worst hazards) {
	best = s.hazards(j)
	worst = best
	r := j.Cluster.Reliability
	if r == nil || r.Restart == 0 {
		best.restart, worst.restart = s.RestartLeast, s.RestartMost
	}
	if r != nil && r.GPUHoursBetweenFailures > 0 {
		return best, worst
	}
	gpus := float64(max(1, j.Cluster.GPUs()))
	for _, f := range failureRates {
		if f.GPUs <= s.Similar*gpus && gpus <= s.Similar*f.GPUs {
			best.between, worst.between = max(best.between, f.GPUHours*3600/gpus), min(worst.between, f.GPUHours*3600/gpus)
		}
	}
	return best, worst
}

// endless is how many times the work between two checkpoints may be expected to take
// of the time without failures, before a run counts as one that never ends.
const endless = 20

// seconds is how long a run of a step takes. A failure comes at random while the run
// trains, and each piece of work between two checkpoints is repeated until it passes:
// the formula is that of Daly (Future Generation Computer Systems 22, 2006), exact
// for exponential times between failures. Operators count the interruptions of a run
// over all of its time, restarts included; so a restart is part of the time between
// two of them, in which no other is counted. A save that is still being written does
// not count: what trained meanwhile is lost. Each submission after the first starts
// once more, too.
func (h *hazards) seconds(r *plan.Run, step units.Seconds) float64 {
	steps := float64(r.Checkpoints.IntervalSteps)
	running, work := h.between-h.restart, float64(step)*steps+h.stall
	if running <= 0 || work+h.lag > endless*running {
		return math.Inf(1)
	}
	piece := h.between * math.Exp(h.lag/running) * math.Expm1(work/running)
	return piece*h.steps/steps + h.restart*float64(r.Jobs-1)
}

// deviations is how many standard deviations a normal variable has on either side of its mean in
// nine cases of ten, and is above with a probability of one in twenty (see Likely).
const deviations = 1.645

// luck is how much longer or shorter than expected a run of so many failures takes,
// at the ends of the 90 % range of a Poisson process.
func (h *hazards) luck(r *plan.Run, step units.Seconds, failures float64) float64 {
	return deviations * math.Sqrt(failures) * (float64(step)*float64(r.Checkpoints.IntervalSteps)/2 + h.restart + h.lag)
}
