//go:build slurm

package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ndc-dev/ndc/logs"
)

// tuned has two ways to shard tried against one another: one allocation in which
// both train, one of them twice, and what their logs say of them.
func tuned(t *testing.T, c *cluster, f trainer) {
	f.skip(t)
	s := f.prepare(t, c, "00:30:00", "1")
	trial := filepath.Join(s.folder, "a trial")
	tune := func(arguments ...string) []byte {
		t.Helper()
		out, err := exec.Command(here.NDC, append([]string{"tune"}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("ndc tune %q: %v\n%s", arguments, err, out)
		}
		return out
	}
	arguments := []string{s.source, "--backend", f.backend, "-o", trial, "--gpu-hours", "50", "--var", "folder=" + s.folder}
	// A training of any length is worth a trial where it is long enough.
	for _, v := range append(f.settings("00:30:00", "1"), "zero_stages=[2, 3]", "steps=2000000000") {
		arguments = append(arguments, "--var", v)
	}
	tune(arguments...)

	s.do(t, "cd %q && sbatch %q", s.folder, filepath.Join(trial, "round-1.sbatch"))
	s.finishWithin(t, 3*patience) // for three trainings, one after the other
	round := s.read("a trial/logs/round-1-" + s.jobs()[0].id + ".log")
	s.expectStates(t, "COMPLETED")
	runs := regexp.MustCompile(`run \d of 3 in job \d+: (candidate-\d)\n.*\nndc: run \d ended with status 0 `).FindAllStringSubmatch(round, -1)
	if len(runs) != 3 || runs[0][1] != "candidate-1" || runs[1][1] != "candidate-2" || runs[2][1] != "candidate-1" {
		t.Fatalf("the round says:\n%s", round)
	}
	predictProcessors(t, s)
	var result struct {
		Candidates []struct {
			Name         string
			Measured     float64 `json:"measured_seconds"`
			Measurements int     `json:"runs"`
		}
		Pick string
	}
	if out := tune("--collect", trial, "--json", "--force"); json.Unmarshal(out, &result) != nil || len(result.Candidates) != 2 ||
		result.Candidates[0].Measurements != 2 || result.Candidates[1].Measurements != 1 || result.Candidates[1].Measured <= 0 || result.Pick == "" {
		t.Errorf("collected of\n%s\nis\n%s", round, out)
	} else {
		t.Logf("%s is the fastest: %+v", result.Pick, result.Candidates)
	}
	tune("--next", trial, "--force")
}

// predictProcessors makes a trial expect of its candidates what a step of the first took:
// the job's GPUs, which nothing here has, would be faster than predictions can err.
func predictProcessors(t *testing.T, s *scenario) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.folder, "a trial", "candidate-1", "logs", "*.log"))
	must(t, err)
	if len(names) == 0 {
		t.Fatal("the first candidate has no log")
	}
	text, err := os.ReadFile(names[0])
	must(t, err)
	var parser logs.Parser
	must(t, parser.Read(bytes.NewReader(text)))
	last := parser.Log().Last()
	if last == nil || last.Seconds <= 0 {
		t.Fatalf("no step in\n%s", text)
	}
	predicted := regexp.MustCompile(`"step_seconds": [^,\n]+`).ReplaceAllString(s.read("a trial/trial.json"), fmt.Sprintf(`"step_seconds": %g`, last.Seconds))
	must(t, os.WriteFile(filepath.Join(s.folder, "a trial", "trial.json"), []byte(predicted), 0o644))
}
