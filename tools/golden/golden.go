// Package golden holds what tests make to the files that are committed, and
// rewrites them where go test hears -update.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update says that files are rewritten, not compared.
var Update = flag.Bool("update", false, "rewrite the files that the tests compare with")

// Compare holds data to a file.
func Compare(t testing.TB, name string, data []byte) {
	t.Helper()
	if *Update {
		Write(t, name, data)
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if d := cmp.Diff(string(want), string(data)); d != "" {
		t.Errorf("%s (-want +got; -update rewrites it, to be read before it is committed):\n%s", name, d)
	}
}

// Write makes a file hold data. A file that does is left alone: tests of other
// packages read the same examples and documents at the same time, and a file
// that is written is empty for a moment.
func Write(t testing.TB, name string, data []byte) {
	t.Helper()
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}
