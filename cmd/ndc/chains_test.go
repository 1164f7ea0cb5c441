package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ndc-dev/ndc/output"
)

// TestReadState: a state is a small regular file of plain words. Anything
// else is none, is not waited for, and prints nothing of its own.
func TestReadState(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole", "link=2\njob=17\nsuccessor=\nended=yes\nover=no\n")
	if got := readState(whole); got["over"] != "no" || got["job"] != "17" || got["successor"] != "unknown" {
		t.Errorf("%v", got)
	}
	if got := readState(write("escape", "job=\x1b[31m17\nover=no\n")); got["job"] != "unknown" {
		t.Errorf("%v", got)
	}
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(whole, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, link, dir, filepath.Join(dir, "missing"), write("large", strings.Repeat("over=no\n", 1000)), write("cut", "link=2\nov")} {
		if got := readState(path); got["over"] != "" {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestWarnOfChains looks into folders whose names are patterns to others.
func TestWarnOfChains(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o[u]t*")
	for id, over := range map[string]string{"100": "no", "200": "yes", "300": "no"} {
		dir := filepath.Join(out, "job", "megatron", "runs", id)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "chain.state"), []byte("link=1\njob="+id+"\nsuccessor=7\nover="+over+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	diags := warnOfChains(out, []output.Folder{{Path: "job/megatron"}})
	if len(diags) != 2 || diags.HasErrors() || diags[0].ID != IDChainAlive || !strings.Contains(diags[1].Detail, "job 300, followed by job 7") {
		t.Errorf("%v", diags)
	}
}
