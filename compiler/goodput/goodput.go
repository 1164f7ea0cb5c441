// Package goodput extends a step to a whole run: its GPU-hours and submissions, how
// often it saves, and how long it takes with its failures. It knows nothing of
// layouts: what a step takes package estimate predicts, and which run is chosen
// package search.
package goodput

import (
	"math"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// stall is how long training stands still for a save, in seconds. Without an idea of
// the storage it is what is usual; a save behind training takes the copy to the host
// only.
func (s *saving) stall(j *job.Job) float64 {
	k := &j.Cluster
	if k.Storage.Bandwidth > 0 && j.Training.Checkpoint.Async && k.PCIe.Bandwidth > 0 {
		return checkpointBytes(j) / (float64(k.PCIe.Bandwidth) * float64(k.GPUs()))
	}
	return s.write(j)
}

// lag is how long a checkpoint that is written behind training does not count yet: a
// failure before it lies in the storage goes back to the one before.
func (s *saving) lag(j *job.Job) float64 {
	if j.Training.Checkpoint.Async && j.Cluster.Storage.Bandwidth > 0 {
		return s.write(j)
	}
	return 0
}

// write is how long a checkpoint takes to lie in the storage, in seconds.
func (s *saving) write(j *job.Job) float64 {
	k := &j.Cluster
	if k.Storage.Bandwidth == 0 {
		return s.SaveSeconds
	}
	rate := float64(k.Storage.Bandwidth)
	if k.Storage.PerNode > 0 {
		rate = min(rate, float64(k.Storage.PerNode)*float64(k.Nodes))
	}
	return checkpointBytes(j) / rate
}

// checkpointBytes is the size of a checkpoint for all that depends on the job alone: the
// weights in two bytes, those of multi-token prediction among them, and with the
// optimizer a copy in four and its moments in four each. Engines without such weights
// write less; what a layout writes, package memory tells.
func checkpointBytes(j *job.Job) float64 {
	each := 2.0
	if j.Training.Checkpoint.SaveOptimizer {
		each += 4 + 4*float64(j.Training.Optimizer.Moments(true)) // nearly all parameters are of matrices
	}
	p := program.New(&j.Model)
	return each * float64(p.ParametersTotal()+p.ParametersMTP())
}

// startupMargin and saveMargin are kept free at the ends of a time limit: a
// container start with model build, and a last checkpoint. A tenth of the
// limit bounds them for short jobs. They are ndc's choice, not a measurement.
const (
	startupMargin units.Seconds = 600
	saveMargin    units.Seconds = 600
)

// Window is how long a program may train in one submission, counted from its own
// start, so that it saves and ends before the time limit; 0 without a limit, not above 0
// where the limit leaves no time. Where the storage is known the save has what it takes.
func Window(j *job.Job) units.Seconds {
	limit := j.Slurm.Time
	if limit == 0 {
		return 0
	}
	margin := min(startupMargin+saveMargin, max(limit/10, 60))
	if j.Training.Checkpoint.Path != "" && j.Cluster.Storage.Bandwidth > 0 {
		margin = max(margin, margin/2+units.Seconds(math.Ceil(units.Rounded(savings.write(j)))))
	}
	return limit - margin
}

// Evaluation is about how long one validation takes. Its batches run forward alone, each a
// third of a step: the backward pass has twice the forward's operations (Narayanan et al.
// 2021, arXiv:2104.04473, appendix). 0 where none is due.
func Evaluation(j *job.Job, step units.Seconds) units.Seconds {
	v := j.Training.Data.Validation
	if v == nil || v.Interval > j.Training.Steps {
		return 0
	}
	return step / 3 * units.Seconds(v.Steps)
}

// Run extends a step, with what it is expected to take and the range around that, to the whole
// training: GPU-hours, those of spare nodes too, how many submissions of the Slurm limit it takes, how often it saves,
// and how long it is expected to take with its failures.
func Run(j *job.Job, step, expected units.Seconds, within [2]units.Seconds) plan.Run {
	seconds := step * units.Seconds(j.Training.WholeSteps())
	r := plan.Run{Steps: j.Training.Steps, Seconds: seconds, Jobs: 1, Checkpoints: Checkpoints(j, step)}
	r.GPUHours = seconds.Hours() * float64(j.AllocatedGPUs())
	r.Cost = r.GPUHours * j.Cluster.PricePerGPUHour
	if window := Window(j); window > 0 {
		r.Jobs = max(1, int(math.Ceil(float64(units.Rounded(seconds/window)))))
	}
	expect(j, &r, expected, within)
	return r
}

// Likely is the probability that failures make a run no longer than a limit on its
// time allows: the upper end of the 90 % range that plans tell.
const Likely = 0.95

// Longest is how long a run of a step takes at most with the probability Likely,
// where the luck of failures is all that is uncertain: its ideal time where the job
// says nothing of failures. Beyond all bounds it is infinite.
func Longest(j *job.Job, step units.Seconds) units.Seconds {
	r := Run(j, step, step, [2]units.Seconds{step, step})
	if j.Cluster.Reliability == nil || r.Checkpoints == nil {
		return r.Seconds
	}
	h := savings.hazards(j)
	expected := h.seconds(&r, step)
	if math.IsInf(expected, 1) {
		return units.Seconds(expected)
	}
	return units.Seconds(expected + h.luck(&r, step, expected/h.between))
}

// halvings is how often the distance to the longest step is halved: the tenth digit.
const halvings = 34

// LongestStep is the longest step with which a run ends within a limit with the
// probability Likely; zero when there is none.
func LongestStep(j *job.Job, limit units.Seconds) units.Seconds {
	ideal := limit / units.Seconds(j.Training.WholeSteps())
	if Longest(j, ideal) <= limit {
		return ideal
	}
	low, high := units.Seconds(0), ideal
	for range halvings {
		if middle := (low + high) / 2; Longest(j, middle) <= limit {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Ends reports whether a run that saves ends at all with the failures that its cluster
// tells of.
func Ends(j *job.Job, r *plan.Run) bool {
	return j.Cluster.Reliability == nil || r.Checkpoints == nil || r.ExpectedSeconds > 0
}

// BetweenFailures is how long a run goes from one failure to the next.
func BetweenFailures(j *job.Job) units.Seconds { return units.Seconds(savings.hazards(j).between) }

// StartSeconds is how long a job takes from its start to its first step, as its
// cluster says it, or what is usual.
func StartSeconds(j *job.Job) units.Seconds {
	if r := j.Cluster.Reliability; r != nil && r.Restart > 0 {
		return r.Restart
	}
	return units.Seconds(savings.RestartSeconds)
}

// expect tells how long a run takes with its failures, where the cluster says how
// often there are any. Its range has that of the step, the luck of the failures, and,
// where the cluster leaves them open, how often others failed and how long they took
// to start again.
func expect(j *job.Job, r *plan.Run, step units.Seconds, within [2]units.Seconds) {
	if j.Cluster.Reliability == nil || r.Checkpoints == nil {
		return
	}
	h := savings.hazards(j)
	expected := h.seconds(r, step)
	if math.IsInf(expected, 1) {
		return
	}
	best, worst := savings.around(j)
	r.Failures = expected / h.between
	spread := h.luck(r, step, r.Failures)
	fastest, slowest := within[0], within[1]
	least, most := j.Training.WholeSteps()*float64(fastest), max(j.Training.WholeSteps()*float64(slowest)*endless, expected+spread)
	r.ExpectedSeconds = units.Seconds(expected)
	r.ExpectedRange = [2]units.Seconds{units.Seconds(max(best.seconds(r, fastest)-spread, least)), units.Seconds(min(worst.seconds(r, slowest)+spread, most))}
	r.Goodput = units.Share(j.Training.WholeSteps() * float64(step) / expected)
}
