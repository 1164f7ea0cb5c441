package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFewLinesChange: a node or a batch more changes some tens of the lines
// that a reviewer looks at, whatever layout is chosen.
func TestFewLinesChange(t *testing.T) {
	content, err := os.ReadFile("../../examples/llama3-70b/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(string(content), "var.nodes % 2 == 0", "var.nodes > 0", 1)
	build := func(batch, nodes string) map[string]string {
		t.Helper()
		dir := t.TempDir()
		file, out := filepath.Join(dir, "job.hcl"), filepath.Join(dir, "out")
		if err := os.WriteFile(file, []byte(strings.Replace(src, "global_batch_size = 1024", "global_batch_size = "+batch, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if run([]string{"build", file, "--backend", "megatron", "--var", "nodes=" + nodes, "-o", out}, &stdout, &stderr) != exitOK {
			t.Fatal(stderr.String())
		}
		return tree(t, filepath.Join(out, "llama3-70b"))
	}
	before := build("1056", "32")
	for name, after := range map[string]map[string]string{"a node more": build("1056", "33"), "a batch more": build("1152", "32")} {
		for file, most := range map[string]int{"megatron/plan.json": 90, "job.json": 30, "plan.md": 50} {
			n := changed(before[file], after[file])
			t.Logf("%s: %d lines of %s change", name, n, file)
			if n == 0 || n > most {
				t.Errorf("%s: %d lines of %s change, want 1 to %d", name, n, file, most)
			}
		}
	}
}

// changed counts the lines of old that new does not have.
func changed(old, new string) int {
	left := map[string]int{}
	for line := range strings.Lines(new) {
		left[line]++
	}
	n := 0
	for line := range strings.Lines(old) {
		if left[line]--; left[line] < 0 {
			n++
		}
	}
	return n
}
