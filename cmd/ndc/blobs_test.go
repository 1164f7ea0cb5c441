package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRevision: every file of a commit is read as it was committed, by one git process;
// an object that is missing, or larger than all that ndc reads, is an error, and the others
// can still be read.
func TestRevision(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	want := map[string]string{"empty.hcl": "", "a/job.hcl": "a\nb\n", "a/no end": "\x00\nno end", "b/large.hcl": strings.Repeat("line\n", 1<<18)}
	for name, text := range want {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "huge.hcl"), make([]byte, largestFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e", "-c", "core.autocrlf=false", "commit", "-q", "-m", "one"}} {
		if _, err := git(t.Context(), dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := openRevision(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer r.blobs.close()
	const nothing = "0000000000000000000000000000000000000001"
	if _, err := r.blobs.read(nothing); err == nil || err.Error() != "git cat-file: "+nothing+" missing" {
		t.Errorf("of an object that is missing: %v", err)
	}
	if _, err := fs.ReadFile(r, "huge.hcl"); err == nil || !strings.Contains(err.Error(), "it has more than 64 MiB") {
		t.Errorf("of a file that is too large: %v", err)
	}
	for name, text := range want {
		if got, err := fs.ReadFile(r, name); err != nil || string(got) != text {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(text), err)
		}
	}
	r.blobs.close()
	if _, err := fs.ReadFile(r, "a/job.hcl"); err == nil {
		t.Error("a file is read of a process that has ended")
	}
}
