package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestSignal: "auto" leaves time to notice, to save, and for Slurm to be early;
// signals that no rank listens to are told of.
func TestSignal(t *testing.T) {
	for _, c := range []struct {
		signal, directive string
		change            func(*job.Job, *Launch)
		id                diag.ID
	}{
		{"auto", "--signal=TERM@164", func(*job.Job, *Launch) {}, ""},
		{"TERM@600", "--signal=TERM@600", func(*job.Job, *Launch) {}, ""},
		{"", "--signal=TERM@164", func(j *job.Job, _ *Launch) { j.Slurm.Directives = []job.Variable{{Name: "time-min", Value: "60"}} }, ""},
		{"R:15@104", "--signal=R:15@104", func(*job.Job, *Launch) {}, ""},
		{"R:15@30", "--signal=R:15@30", func(*job.Job, *Launch) {}, IDSignalNotHeard},
		{"TERM", "--signal=TERM", func(*job.Job, *Launch) {}, IDSignalNotHeard},
		{"TERM@65535", "", func(j *job.Job, _ *Launch) { j.Slurm.Time = 24 * 3600 }, ""},
		{"TERM@65536", "", func(j *job.Job, _ *Launch) { j.Slurm.Time = 24 * 3600 }, IDDirectiveValue},
		{"TERM@7200", "", func(j *job.Job, _ *Launch) { j.Slurm.Time = 7260 }, IDTimeLimitTooShort},
		{"B:USR1@60", "--signal=B:USR1@60", func(*job.Job, *Launch) {}, IDSignalNotHeard},
		{"USR2@600", "--signal=USR2@600", func(*job.Job, *Launch) {}, IDSignalNotHeard},
		{"TERM@600", "--signal=TERM@600", func(j *job.Job, l *Launch) { l.CheckpointPath, j.Slurm.Chain = "", job.Chain{} }, IDSignalNotHeard},
		{"auto", "", func(j *job.Job, _ *Launch) { j.Slurm.Time = 120 }, IDTimeLimitTooShort},
		{"TERM; touch pwned", "", func(*job.Job, *Launch) {}, IDDirectiveValue},
	} {
		j, p, l := example()
		l.Notice, p.Run.Checkpoints = 3.5, &plan.Checkpoints{SaveSeconds: 100}
		j.Slurm.Signal = c.signal
		c.change(j, &l)
		files, diags := Files(j, p, l)
		var ids []diag.ID
		for _, d := range diags {
			ids = append(ids, d.ID)
			if d.ID == IDSignalNotHeard && l.CheckpointPath != "" && !strings.Contains(d.Detail, "ends them at once") && !strings.Contains(d.Detail, "may not be whole") {
				t.Errorf("%s: what it does is not said: %s", c.signal, d.Detail)
			}
		}
		if want := slices.DeleteFunc([]diag.ID{c.id}, func(id diag.ID) bool { return id == "" }); !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", c.signal, ids, want)
		}
		j.Training.Checkpoint.Path = l.CheckpointPath
		late := c.id == IDTimeLimitTooShort && c.signal == "auto" // which the plan decides
		if before := Check(j); before.HasErrors() != (diags.HasErrors() && !late) || len(before) > 0 && !before.HasErrors() {
			t.Errorf("%s: before a plan %v, with it %v", c.signal, before, diags)
		}
		if c.directive != "" && !strings.Contains(string(files[0].Content), "#SBATCH "+c.directive+"\n") {
			t.Errorf("%s: no %s", c.signal, c.directive)
		}
	}
}

// TestSingleton: a job may ask to be the only one of its name, in a chain too.
func TestSingleton(t *testing.T) {
	j, p, l := example()
	j.Slurm.Directives = []job.Variable{{Name: "dependency", Value: "singleton"}}
	script := string(files(t, j, p, l).Files[0].Data)
	for _, part := range []string{"#SBATCH --dependency=singleton\n", `--dependency="afterany:$SLURM_JOB_ID,singleton"`} {
		if !strings.Contains(script, part) {
			t.Errorf("no %s", part)
		}
	}
}
