package deepspeed

import (
	"os"
	"os/exec"
	"testing"
)

// TestKills kills a run at every operation on files of its saving, where there
// is a Python: `latest` names a complete checkpoint from the first one on.
// integration/deepspeed does the same with DeepSpeed itself.
func TestKills(t *testing.T) {
	t.Parallel()
	out := python(t, "testdata/kills.py", "templates", memory(t))
	t.Logf("%s", out)
}

// TestLoading loads what a job with another decay, other betas and another epsilon saved.
func TestLoading(t *testing.T) {
	t.Parallel()
	python(t, "testdata/loading.py", "templates")
}

// TestSaving: a save that fails says where, and how much is free there; a clock that is
// set stops no run and saves nothing; a folder with brackets and stars is found again.
func TestSaving(t *testing.T) {
	t.Parallel()
	python(t, "testdata/saving.py", "templates", t.TempDir())
}

// python runs a program that needs nothing but a Python.
func python(t *testing.T, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// memory is a folder that no disk slows down, where there is one.
func memory(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "ndc-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// TestIndexing indexes a corpus in 80 processes at once, and corpora that were
// replaced by older ones.
func TestIndexing(t *testing.T) {
	t.Parallel()
	python(t, "testdata/indexing.py", "templates", memory(t))
}
