//go:build conformance

package deepspeed

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
)

// environment returns a Python with a release of DeepSpeed, installed into the
// cache folder when it is missing.
func environment(t *testing.T, version string) string {
	t.Helper()
	python, err := frameworks.DeepSpeed(version).Python()
	if err != nil {
		t.Skip("skipped: ", err)
	}
	if _, err := frameworks.Kernels(python); err != nil { // outside every time limit
		t.Skip("skipped: DeepSpeed needs a C++ compiler: ", err)
	}
	return python
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu", "TORCH_EXTENSIONS_DIR="+extensions(name))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
}

// extensions is where a release keeps its kernels; releases must not share it.
func extensions(python string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(python)), "extensions")
}
