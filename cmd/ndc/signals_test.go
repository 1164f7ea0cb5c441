package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTemporary: a temporary folder is gone when its work ends, and before a signal ends
// the program in the midst of it.
func TestTemporary(t *testing.T) {
	i := newInterruption()
	t.Setenv("TMPDIR", t.TempDir())
	for _, end := range []string{"of the work", "by a signal"} {
		dir, remove, err := i.temporary("ndc-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "objects"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if end == "of the work" {
			remove()
		} else {
			i.tidy()
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("at the end %s %s is left: %v", end, dir, err)
		}
	}
}
