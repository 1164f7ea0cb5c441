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
	w, folder := j.Training.Logging.WandB, j.Training.Checkpoint.Path
	if w == nil || w.Mode == "offline" || w.Mode == "disabled" || folder == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(j.Name + "\n" + folder + "\n"))
	id := render.Literal(fmt.Sprintf("%x", digest[:8]))
	if len(render.References(folder)) > 0 { // another folder, and another run, for each user of the job
		id = render.Shell(fmt.Sprintf(`"$(printf '%%s\n' %s %s | sha256sum | head -c 16)"`, render.Quote(j.Name), render.ExpandingPath(folder)))
	}
	return []Setting{
		{"WANDB_RESUME", render.Literal("allow"), "ndc: all launches of the job are one run"},
		{"WANDB_RUN_ID", id, "ndc: of the job and its folder of checkpoints"},
	}
}
