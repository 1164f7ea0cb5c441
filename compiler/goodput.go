package compiler

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
	if k.Storage.Bandwidth == 0 {
		return s.SaveSeconds
	}
	if j.Training.Checkpoint.Async && k.PCIe.Bandwidth > 0 {
		return checkpointBytes(j) / (float64(k.PCIe.Bandwidth) * float64(k.GPUs()))
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

// expect tells how long a run takes with its failures, where the cluster says how
// often there are any. Failures come at random, and each piece of work between two
// checkpoints is repeated until it passes: the formula is that of Daly (Future
// Generation Computer Systems 22, 2006), exact for exponential times between
// failures. Each submission after the first starts once more, too.
func expect(j *job.Job, p *plan.Plan) {
	r, saves := &p.Run, p.Run.Checkpoints
	if j.Cluster.Reliability == nil || saves == nil {
		return
	}
	restart := float64(j.Cluster.Reliability.Restart)
	if restart == 0 {
		restart = savings.RestartSeconds
	}
	mean, stall := savings.between(j), savings.stall(j)
	step, steps := p.Time.StepSeconds, float64(saves.IntervalSteps)
	if (float64(step)*steps+stall+restart)/mean > farOff {
		return
	}
	total := func(step units.Seconds) float64 {
		pieces := float64(r.Steps) / steps
		return mean*math.Exp(restart/mean)*math.Expm1((float64(step)*steps+stall)/mean)*pieces + restart*float64(r.Jobs-1)
	}
	expected := total(step)
	r.Failures = expected / mean
	spread := 1.645 * math.Sqrt(r.Failures) * (float64(step)*steps/2 + restart) // of a Poisson process
	fastest, slowest := p.Time.StepRangeSeconds[0], p.Time.StepRangeSeconds[1]
	least := float64(r.Steps) * float64(fastest)
	r.ExpectedSeconds = units.Seconds(expected)
	r.ExpectedRange = [2]units.Seconds{units.Seconds(max(total(fastest)-spread, least)), units.Seconds(total(slowest) + spread)}
	r.Goodput = units.Share(float64(r.Seconds) / expected)
}
