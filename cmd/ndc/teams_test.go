package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTeams runs the commands of docs/teams.md, one after the other, in a copy of
// testdata/team and compares what they print, diagnostics included.
func TestTeams(t *testing.T) {
	const page = "../../docs/teams.md"
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../testdata/team")); err != nil {
		t.Fatal(err)
	}
	const open, end = "```console\n", "```\n"
	var got strings.Builder
	rest, commands := string(written), 0
	for {
		text, block, found := strings.Cut(rest, open)
		got.WriteString(text)
		if !found {
			break
		}
		block, rest, found = strings.Cut(block, end)
		if !found {
			t.Fatal("a block of commands has no end")
		}
		got.WriteString(open)
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands++
				got.WriteString(line)
				c := exec.Command("sh", "-c", command)
				c.Dir = folder
				out, _ := c.CombinedOutput() // some fail, and say so
				got.Write(out)
			}
		}
		got.WriteString(end)
	}
	if commands < 8 {
		t.Errorf("only %d commands", commands)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(written), got.String()); d != "" {
		t.Errorf("run with -update and read the difference:\n%s", d)
	}
}
