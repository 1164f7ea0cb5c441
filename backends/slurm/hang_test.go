package slurm

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/units"
)

// TestHangTimeout: "auto" waits ten minutes, or for what the plan predicts; a
// time is taken as it is, and looked at often enough.
func TestHangTimeout(t *testing.T) {
	for _, c := range []struct {
		timeout    job.Silence
		step, save units.Seconds
		interval   int
		validation *job.Validation
		want       hang
	}{
		{job.Silence{Learned: true}, 3, 20, 10, nil, hang{Pauses: 5, Seconds: 600, Period: 30}},
		{job.Silence{Learned: true}, 30, 20, 10, nil, hang{Pauses: 5, Seconds: 3000, Period: 30}},
		{job.Silence{Learned: true}, 3, 90.25, 10, nil, hang{Pauses: 5, Seconds: 903, Period: 30}},
		{job.Silence{Learned: true}, 3, 20, 10, &job.Validation{Interval: 100, Steps: 400}, hang{Pauses: 5, Seconds: 2000, Period: 30}}, // five times 400 s
		{job.Silence{Time: 1800}, 3, 90, 10, nil, hang{Seconds: 1800, Period: 30}},
		{job.Silence{Time: 20}, 3, 90, 10, nil, hang{Seconds: 20, Period: 5}},
	} {
		j, p, _ := example()
		j.Slurm.HangTimeout, j.Training.Logging.Interval = c.timeout, c.interval
		j.Training.Data.Validation, j.Training.Steps = c.validation, 1000
		p.Time.StepSeconds, p.Run.Checkpoints = c.step, &plan.Checkpoints{SaveSeconds: c.save}
		if got := watch(j, p); *got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.timeout, got, c.want)
		}
	}
	j, p, l := example()
	if script := string(files(t, j, p, l).Files[0].Data); strings.Contains(script, "watch_reports") {
		t.Error("a watch without hang_timeout")
	}
}

// TestHangByAnyClock: what a run was silent for is counted while it ran. A clock that is
// set, or that runs on while Slurm suspends the job, ends no run that reports.
func TestHangByAnyClock(t *testing.T) {
	j, p, l := example()
	j.Slurm.HangTimeout = job.Silence{Time: 20}
	script := string(files(t, j, p, l).Files[0].Data)
	from, to := strings.Index(script, "watch_reports() {"), strings.Index(script, "# dump_recorder")
	for reported, want := range map[string]string{"n % 3": "goes on", "n == 1": "ndc: no rank has reported for 20 s"} {
		out, err := exec.Command("bash", "-c", `set -euo pipefail
n=0 log=$(mktemp)
date() { printf '%s\n' $((EPOCHSECONDS + (n += 1) * 100000)); }
sleep() {
  if [[ $((n += 1)) -gt 30 ]]; then echo goes on; rm "$log"; exit; fi
  if ((`+reported+`)); then echo report >>"$log"; fi
}
dump_recorder() { :; }
kill() { rm "$log"; }
`+script[from:to]+`watch_reports 0`).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %v\n%s", reported, err, out)
		}
	}
}
