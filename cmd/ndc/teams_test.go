package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/tools/golden"
)

// served is where docs/teams.md has its repositories; in the test they lie in a
// folder of its own.
const served = "/srv/git"

// TestTeams runs the commands of docs/teams.md, one after the other, in a clone of
// a repository with what testdata/team has, and compares what they print,
// diagnostics included; so it does with the comment of the GitHub Action, whose
// steps it runs.
func TestTeams(t *testing.T) {
	t.Parallel() // most of its time other programs run
	const page = "../../docs/teams.md"
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	c := newChange(t)
	if err := os.CopyFS(c.dir, os.DirFS("../../testdata/team")); err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(c.dir)
	if err := os.Mkdir(filepath.Join(root, "git"), 0o777); err != nil {
		t.Fatal(err)
	}
	commands := 0
	got := replaceBlocks(t, string(written), func(kind, block string) string {
		switch kind {
		case "markdown":
			return c.comment(t)
		case "console":
		default:
			return block
		}
		var shown strings.Builder
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands++
				shown.WriteString(line)
				out, _ := c.try(nil, strings.ReplaceAll(command, served, root+"/git")) // some fail, and say so
				shown.WriteString(elsewhere(out, root+"/git", served))
			}
		}
		return shown.String()
	})
	if commands < 20 {
		t.Errorf("only %d commands", commands)
	}
	golden.Compare(t, page, []byte(got))
}

// elsewhere is what a command would have printed in another place: paths, and
// what underlines them.
func elsewhere(out, from, to string) string {
	lines := strings.Split(out, "\n")
	for i := range lines {
		if i > 0 && strings.Contains(lines[i-1], to) && strings.Trim(lines[i], " ^") == "" {
			lines[i] = strings.Replace(lines[i], strings.Repeat("^", len(from)-len(to)), "", 1)
		}
		lines[i] = strings.ReplaceAll(lines[i], from, to)
	}
	return strings.Join(lines, "\n")
}

// comment is what the action says of a change whose files are built, and which
// is of convergence.
func (c *change) comment(t *testing.T) string {
	t.Helper()
	c.context["inputs.jobs"], c.context["inputs.fail-on"] = "jobs", "convergence"
	if failed := strings.Join(c.steps(t), " "); failed != "Decide" {
		t.Errorf("the files are built and the rate is another, and these steps of the action fail: %s", failed)
	}
	return c.read("ndc.md")
}

// replaceBlocks replaces the content of the fenced blocks of a page, one after
// the other.
func replaceBlocks(t *testing.T, page string, replace func(kind, block string) string) string {
	t.Helper()
	const fence = "```"
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(page, "\n"+fence)
		b.WriteString(text)
		if !found {
			return b.String()
		}
		kind, rest, _ := strings.Cut(rest, "\n")
		block, rest, found := strings.Cut("\n"+rest, "\n"+fence+"\n")
		if !found {
			t.Fatalf("a block of %s has no end", kind)
		}
		block = strings.TrimPrefix(block, "\n")
		if block != "" {
			block += "\n"
		}
		b.WriteString("\n" + fence + kind + "\n" + replace(kind, block) + fence + "\n")
		page = rest
	}
}
