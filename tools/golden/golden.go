// Package golden rewrites the files that tests compare with, where go test hears
// -update.
package golden

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Update makes a file hold data. A file that does is left alone: tests of other
// packages read the same examples and documents at the same time, and a file
// that is written is empty for a moment.
func Update(t testing.TB, name string, data []byte) {
	t.Helper()
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}
