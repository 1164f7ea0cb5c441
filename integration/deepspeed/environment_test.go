//go:build conformance

package deepspeed

import (
	"os"
	"path/filepath"
	"testing"
)

// environment returns a Python with a release of DeepSpeed.
func environment(t *testing.T, version string) string {
	t.Helper()
	python := os.Getenv("NDC_DEEPSPEED_PYTHON_" + version)
	if python == "" {
		t.Skip("no environment")
	}
	return python
}

func extensions(python string) string { return filepath.Join(filepath.Dir(filepath.Dir(python)), "extensions") }
