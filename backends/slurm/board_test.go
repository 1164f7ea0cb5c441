package slurm

import (
	"os/exec"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestContinuedRun: all launches of a job are one run, of another job or with other
// checkpoints another, and nothing is named where each launch stands alone.
func TestContinuedRun(t *testing.T) {
	id := func(change func(*job.Job)) string {
		j := &job.Job{Name: "pretrain"}
		j.Training.Checkpoint.Path = "/checkpoints/pretrain/megatron"
		j.Training.Logging.WandB = &job.WandB{Project: "llm"}
		if change != nil {
			change(j)
		}
		var name, resume string
		for _, s := range ContinuedRun(j) {
			switch s.Name {
			case "WANDB_RUN_ID":
				said, err := exec.Command("bash", "-c", "set -eu; printf %s "+s.Value.String()).Output()
				if name = string(said); err != nil {
					t.Error(s.Value, err)
				}
			case "WANDB_RESUME":
				resume = s.Value.String()
			}
		}
		if name != "" && (len(name) != 16 || resume != "allow") {
			t.Errorf("%q, %q", name, resume)
		}
		return name
	}
	first := id(nil)
	inHome := func(j *job.Job) { j.Training.Checkpoint.Path = "${NDC_TEST_HOME}/it's/megatron" }
	plain := func(j *job.Job) { j.Training.Checkpoint.Path = "/home/ada/it's/megatron" }
	for folder, computed := range map[string]bool{"/home/ada": false, "${NDC_TEST_HOME}/ada": true} {
		j := &job.Job{Name: "pretrain"}
		j.Training.Checkpoint.Path, j.Training.Logging.WandB = folder, &job.WandB{Project: "llm"}
		if got := ContinuedRun(j); got[0].Computed() || got[1].Computed() != computed {
			t.Errorf("%s: %v", folder, got)
		}
	}
	t.Setenv("NDC_TEST_HOME", "/home/ada")
	mine := id(inHome)
	if written := id(plain); mine != written {
		t.Errorf("%q by a variable, %q written out", mine, written)
	}
	t.Setenv("NDC_HOST_NDC_TEST_HOME", "/home/grace") // in a container
	if hers := id(inHome); hers == mine {
		t.Errorf("two users of a job are one run, %q", mine)
	}
	if first == "" || id(nil) != first {
		t.Errorf("%q, then %q", first, id(nil))
	}
	for what, change := range map[string]func(*job.Job){
		"another job":         func(j *job.Job) { j.Name = "finetune" },
		"another framework":   func(j *job.Job) { j.Training.Checkpoint.Path = "/checkpoints/pretrain/torchtitan" },
		"joined the same way": func(j *job.Job) { j.Name, j.Training.Checkpoint.Path = "pretrain/", "checkpoints/pretrain/megatron" },
	} {
		if got := id(change); got == "" || got == first {
			t.Errorf("%s: %q", what, got)
		}
	}
	for what, change := range map[string]func(*job.Job){
		"no checkpoints": func(j *job.Job) { j.Training.Checkpoint.Path = "" },
		"no board":       func(j *job.Job) { j.Training.Logging.WandB = nil },
		"offline":        func(j *job.Job) { j.Training.Logging.WandB.Mode = "offline" },
		"disabled":       func(j *job.Job) { j.Training.Logging.WandB.Mode = "disabled" },
	} {
		if got := id(change); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
}
