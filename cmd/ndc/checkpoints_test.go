package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan/file"
)

// TestAutomaticCheckpoints: an interval that is left to ndc is one time on all
// backends, in their plans and in what they emit.
func TestAutomaticCheckpoints(t *testing.T) {
	source, err := os.ReadFile("../../examples/llama3-8b/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	job := strings.Replace(string(source), `interval = 1000`, `interval = "auto"`, 1)
	if job == string(source) {
		t.Fatal("the example has no interval of 1000 steps")
	}
	if err := os.WriteFile(filepath.Join(folder, "job.hcl"), []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"build", filepath.Join(folder, "job.hcl")}, &stdout, &stderr); code != exitOK {
		t.Fatal(stderr.String())
	}
	out := tree(t, filepath.Join(folder, "out"))
	const seconds = 3600 // eight GPUs
	for _, c := range []struct{ backend, file, emitted string }{
		{"megatron", "launch.sh", `--save-interval STEPS `},
		{"torchtitan", "ndc_job.py", `save_every=SECONDS.0,`},
		{"deepspeed", "run.json", `"interval_seconds": SECONDS,`},
	} {
		at := "llama3-8b/" + c.backend + "/"
		var p file.File
		if err := json.Unmarshal([]byte(out[at+planName]), &p); err != nil {
			t.Fatal(err)
		}
		steps := int(seconds/p.Time.StepSeconds + 0.5)
		if k := p.Run.Checkpoints; k == nil || k.IntervalSeconds != seconds || k.IntervalSteps != steps || k.Given != "auto" {
			t.Errorf("%s plans %+v, want %d s, %d steps", c.backend, k, seconds, steps)
		}
		want := strings.NewReplacer("STEPS", strconv.Itoa(steps), "SECONDS", strconv.Itoa(seconds)).Replace(c.emitted)
		if !strings.Contains(out[at+c.file], want) {
			t.Errorf("%s: no %s in %s", c.backend, want, c.file)
		}
	}
}
