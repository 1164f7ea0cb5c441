//go:build conformance

package deepspeed

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// environment returns a Python with a release of DeepSpeed, installed into the
// cache folder when it is missing.
func environment(t *testing.T, version string) string {
	t.Helper()
	python, err := frameworks.DeepSpeed(version).Python()
	if err == nil {
		_, err = frameworks.Kernels(python, t.TempDir()) // outside every time limit
	}
	if err != nil {
		line := row(t, version)
		line.Skipped = err.Error()
		t.Skip("skipped: ", err)
	}
	return python
}

// asked says what a test asks of a release, for the summary.
var asked = map[string]string{
	"TestConfigurations":      "configurations of small jobs, read",
	"TestTrials":              "small jobs trained on CPU, layouts",
	"TestReplicas":            "sharding within replicas, trained on CPU in its last release",
	"TestData":                "small jobs trained on CPU, data formats",
	"TestHuggingFace":         "small jobs trained on CPU, from Hugging Face weights",
	"TestResume":              "small jobs stopped and resumed on CPU",
	"TestKills":               "checkpoints under kills at every operation on files",
	"TestStartFromCheckpoint": "a small job that starts from a checkpoint",
	"TestLaunch":              "launch.sh with torchrun",
	"TestUnits":               "parts of the emitted program",
	"TestLeave":               "ranks that end while gloo still works",
}

// row is a row of the summary, added when the test has ended.
func row(t *testing.T, version string) *summary.Line {
	name, _, _ := strings.Cut(t.Name(), "/")
	line := &summary.Line{Framework: "deepspeed", Version: version, What: asked[name]}
	line.AddAfter(t)
	return line
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(append(os.Environ(), "DS_ACCELERATOR=cpu"), kernels(t, name)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
}

// kernels are those of a release, for this test alone, as variables of a run.
func kernels(t *testing.T, python string, more ...frameworks.Kernel) []string {
	t.Helper()
	variables, err := frameworks.Kernels(python, t.TempDir(), more...)
	must(t, err)
	return variables
}
