package slurm

import (
	"crypto/sha256"
	"fmt"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/lang/job"
)

// ContinuedRun are the variables by which all launches of a job are one run of
// Weights & Biases, which the job and its folder of checkpoints name: every link of a
// chain would begin another. A job without checkpoints begins anew with every launch,
// and what is kept offline is put together by nobody.
func ContinuedRun(j *job.Job) []Setting {
	w := j.Training.Logging.WandB
	if w == nil || w.Mode == "offline" || w.Mode == "disabled" || j.Training.Checkpoint.Path == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(j.Name + "\x00" + j.Training.Checkpoint.Path))
	return []Setting{
		{"WANDB_RESUME", render.Literal("allow"), "ndc: all launches of the job are one run"},
		{"WANDB_RUN_ID", render.Literal(fmt.Sprintf("%x", digest[:8])), "ndc: of the job and its folder of checkpoints"},
	}
}
