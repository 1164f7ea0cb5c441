package tune

import (
	"maps"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// Short is a job as a trial runs it: a few steps of the same batches of the same
// data, which nothing interrupts and of which nothing is kept. It trains from
// scratch, at the rate that the job's own warm-up has reached by then, and its logs
// lie beside its files in the folder.
func Short(j *job.Job, steps int, folder string) *job.Job {
	s := *j
	s.Folder = folder
	t := &s.Training
	rate := t.Optimizer.LearningRate
	if warm := t.Schedule.WarmupSteps; warm > steps {
		rate = units.Rounded(rate * float64(steps) / float64(warm))
	}
	t.Steps, t.Tokens = steps, int64(steps)*int64(t.GlobalBatchSize)*int64(j.Model.SequenceLength)
	t.BatchRamp, t.Optimizer.LearningRate, t.Schedule = nil, rate, job.Schedule{Kind: "constant"}
	t.Start = job.Start{From: "scratch"}
	t.Checkpoint = job.Checkpoint{}
	t.Data.Validation = nil
	t.Logging = job.Logging{Interval: 1}
	s.Slurm.Chain, s.Slurm.Requeue, s.Slurm.LogPath, s.Slurm.Time, s.Slurm.SpareNodes = job.Chain{}, job.Some(false), "", 0, 0
	s.Sources = maps.Clone(j.Sources)
	for path, source := range s.Sources {
		if slices.ContainsFunc(changed, func(name string) bool { return path == name || strings.HasPrefix(path, name+".") }) {
			source.Origin = job.FromTrial
			s.Sources[path] = source
		}
	}
	return &s
}

// changed are the arguments that Short changes.
var changed = []string{"training.steps", "training.tokens", "training.batch_ramp", "training.optimizer.learning_rate", "training.schedule", "training.start",
	"training.checkpoint", "training.data.validation", "training.logging", "slurm.chain", "slurm.requeue", "slurm.log_path", "slurm.time", "slurm.spare_nodes"}
