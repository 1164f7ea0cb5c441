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

// between is the mean time between failures of a job, in seconds: it falls with the
// number of GPUs.
func (s *saving) between(j *job.Job) float64 {
	seconds := s.Days * 24 * 3600 * s.GPUs / s.Interruptions
	if r := j.Cluster.Reliability; r != nil && r.GPUHoursBetweenFailures > 0 {
		seconds = r.GPUHoursBetweenFailures * 3600
	}
	return seconds / float64(max(1, j.Cluster.GPUs()))
}

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

// checkpointBytes is the size of a checkpoint: the weights in two bytes, and with
// the optimizer a copy in four and its moments in four each.
func checkpointBytes(j *job.Job) float64 {
	each := 2.0
	if j.Training.Checkpoint.SaveOptimizer {
		each += 4 + 4
		if kind := j.Training.Optimizer.Kind; kind == "adam" || kind == "adamw" {
			each += 4
		}
	}
	return each * float64(program.New(&j.Model).ParametersTotal())
}

// farOff is how many failures between two checkpoints make a run endless.
const farOff = 20

// Run extends a step, with the range that it may take, to the whole training:
// GPU-hours, those of spare nodes too, how many submissions of the Slurm limit it takes, how often it saves,
// and how long it takes with its failures.
func Run(j *job.Job, step units.Seconds, within [2]units.Seconds) plan.Run {
	seconds := step * units.Seconds(j.Training.Steps)
	r := plan.Run{Steps: j.Training.Steps, Seconds: seconds, Jobs: 1, Checkpoints: Checkpoints(j, step)}
	r.GPUHours = float64(seconds) / 3600 * float64(j.AllocatedGPUs())
	r.Cost = r.GPUHours * j.Cluster.PricePerGPUHour
	if window := j.Slurm.TrainingWindow(); window > 0 {
		r.Jobs = max(1, int(math.Ceil(float64(units.Rounded(seconds/window)))))
	}
	expect(j, &r, step, within)
	return r
}

// Likely is the probability that failures make a run no longer than a limit on its
// time allows: the upper end of the 90 % range that plans tell.
const Likely = 0.95

// Longest is how long a run of a step takes at most with the probability Likely,
// where failures are all that is uncertain: its ideal time where the job says
// nothing of failures. Beyond all bounds it is infinite.
func Longest(j *job.Job, step units.Seconds) units.Seconds {
	r := Run(j, step, [2]units.Seconds{step, step})
	switch {
	case r.ExpectedSeconds > 0:
		return r.ExpectedRange[1]
	case j.Cluster.Reliability != nil && r.Checkpoints != nil:
		return units.Seconds(math.Inf(1))
	}
	return r.Seconds
}

// halvings is how often the distance to the longest step is halved: the tenth digit.
const halvings = 34

// LongestStep is the longest step with which a run ends within a limit with the
// probability Likely; zero when there is none.
func LongestStep(j *job.Job, limit units.Seconds) units.Seconds {
	ideal := limit / units.Seconds(j.Training.Steps)
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

// StartSeconds is how long a job takes from its start to its first step, as its
// cluster says it, or what is usual.
func StartSeconds(j *job.Job) units.Seconds {
	if r := j.Cluster.Reliability; r != nil && r.Restart > 0 {
		return r.Restart
	}
	return units.Seconds(savings.RestartSeconds)
}

// expect tells how long a run takes with its failures, where the cluster says how
// often there are any. Failures come at random, and each piece of work between two
// checkpoints is repeated until it passes: the formula is that of Daly (Future
// Generation Computer Systems 22, 2006), exact for exponential times between
// failures. A checkpoint that is still being written does not count: what trained
// meanwhile is lost with the restart. Each submission after the first starts once
// more, too.
func expect(j *job.Job, r *plan.Run, step units.Seconds, within [2]units.Seconds) {
	saves := r.Checkpoints
	if j.Cluster.Reliability == nil || saves == nil {
		return
	}
	restart := float64(StartSeconds(j))
	mean, stall := savings.between(j), savings.stall(j)
	back := restart + savings.lag(j) // what a failure costs beside the work since the save
	steps := float64(saves.IntervalSteps)
	if (float64(step)*steps+stall+back)/mean > farOff {
		return
	}
	total := func(step units.Seconds) float64 {
		pieces := float64(r.Steps) / steps
		return mean*math.Exp(back/mean)*math.Expm1((float64(step)*steps+stall)/mean)*pieces + restart*float64(r.Jobs-1)
	}
	expected := total(step)
	r.Failures = expected / mean
	spread := 1.645 * math.Sqrt(r.Failures) * (float64(step)*steps/2 + back) // of a Poisson process
	fastest, slowest := within[0], within[1]
	least := float64(r.Steps) * float64(fastest)
	r.ExpectedSeconds = units.Seconds(expected)
	r.ExpectedRange = [2]units.Seconds{units.Seconds(max(total(fastest)-spread, least)), units.Seconds(total(slowest) + spread)}
	r.Goodput = units.Share(float64(r.Seconds) / expected)
}
