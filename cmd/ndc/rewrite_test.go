//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/output/trace"
)

// pairs are contents before and after formatting, shorter and longer ones.
var pairs = map[string]string{
	"locals {\na=1\nbcd=2\n}\n":                     "locals {\n  a   = 1\n  bcd = 2\n}\n",
	"locals {\n     a=    1\n      bcd =    2\n}\n": "locals {\n  a   = 1\n  bcd = 2\n}\n",
}

const ugly = "locals {\na=1\nbcd=2\n}\n"

// TestKilledFormat kills the command at each of its calls that change the disk.
// The next one ends with the formatted file, and nothing beside it.
func TestKilledFormat(t *testing.T) {
	kills := 0
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "job.hcl")
		if err := os.WriteFile(path, []byte(ugly), 0o600); err != nil {
			t.Fatal(err)
		}
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := trace.Run(trace.Program{Path: "/proc/self/exe", Args: []string{"ndc", "fmt", path}, Output: null, Env: append(os.Environ(), "GOMAXPROCS=1")}, at, syscall.SIGKILL)
		if errors.Is(err, trace.ErrNotAllowed) {
			t.Skip(err)
		}
		if err := errors.Join(err, null.Close()); err != nil {
			t.Fatal(err)
		}
		formatted(t, path, pairs[ugly])
		if got.Call == "" {
			break
		}
		kills++
	}
	if kills < 5 {
		t.Errorf("%d kills prove nothing", kills)
	}
}

// TestMend: whatever a kill leaves of the file and of its backup is mended, and
// a file that was edited since is not touched.
func TestMend(t *testing.T) {
	for ugly, pretty := range pairs {
		for k := range len(pretty) + 1 {
			now := pretty[:k]
			if k < len(ugly) {
				now += ugly[k:]
			}
			formatted(t, left(t, now, ugly), pretty)
		}
		for k := range len(ugly) {
			formatted(t, left(t, ugly, ugly[:k]), pretty)
		}
	}
	edited := left(t, "locals {\n  other = 3\n}\n", ugly)
	if err := newFmtOf(edited); err == nil {
		t.Error("the backup of a file that was edited since is taken for nothing")
	}
	if now, err := os.ReadFile(edited); err != nil || !bytes.Contains(now, []byte("other")) {
		t.Errorf("%s, %v", now, err)
	}
}

// left is a file with a backup beside it.
func left(t *testing.T, now, backup string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.hcl")
	if err := errors.Join(os.WriteFile(path, []byte(now), 0o600), os.WriteFile(filepath.Join(filepath.Dir(path), ".job.hcl.ndc-123"), []byte(backup), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// formatted formats a file and looks at what is in its folder.
func formatted(t *testing.T, path, pretty string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	if err := newFmtOf(path); err != nil {
		t.Fatalf("%q: %v", before, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%q: left %v, %v", before, entries, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != pretty {
		t.Errorf("%q: %q, %v", before, now, err)
	}
}

func newFmtOf(path string) error {
	c := newFmt(io.Discard, io.Discard)
	c.SetArgs([]string{path})
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.Execute()
}

// TestFormatsAlone: a format waits for another one in the folder, as of an editor and a hook.
// It took what that one had begun for what a killed one leaves, and both wrote.
func TestFormatsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.hcl")
	if err := os.WriteFile(path, []byte(ugly), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	output.Alone(t.Context(), filepath.Dir(path), func() {
		go func() { done <- newFmtOf(path) }()
		time.Sleep(300 * time.Millisecond)
		if now, err := os.ReadFile(path); err != nil || string(now) != ugly {
			t.Errorf("%q, %v", now, err)
		}
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
	formatted(t, path, pairs[ugly])
}
