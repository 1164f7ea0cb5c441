package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// odd are words that no one would write: one of several, blanks where a name
// should stand, Go's own words.
var odd = regexp.MustCompile(`(^|[^x+.\d] |\()1 ([a-z]+[ -])?(nodes|layers|GPUs|ranks|steps|stages|submissions|layouts|chunks|tokens|experts|tasks|seconds|minutes|hours|days|times|reasons|replicas|micro-batches|sequences|processes|attention heads)\b` +
	`|\w [.,;](\s|$)|\(\s*\)\s*[.,;]|, ,|%!|<nil>|\bNaN\b|\bInf\b`)

// oddWords lists what is odd about the lines of a text that people read: all of
// them, or in a script its comments.
func oddWords(name, text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if prose := strings.TrimSpace(line); path.Ext(name) != ".txt" && !strings.HasPrefix(prose, "# ") && !strings.HasPrefix(prose, "\"detail\"") && !strings.HasPrefix(prose, "\"reason\"") && !strings.HasPrefix(prose, "\"summary\"") {
			continue
		}
		if m := odd.FindString(line); m != "" {
			found = append(found, name+": "+strings.TrimSpace(m)+": "+line)
		}
	}
	return found
}

// TestOddWords: the check of all that is printed finds plurals and blanks that are wrong, and no
// others.
func TestOddWords(t *testing.T) {
	for _, line := range []string{"beyond them: GPU .", "# a on b: 1 nodes x 8 h100", "full (1 layers of each chunk)", "1 layouts: 0 feasible", "uses () .", "%!d(string=x)", "1 more reasons"} {
		if oddWords("x.txt", line) == nil {
			t.Errorf("%q is found in order", line)
		}
	}
	for _, line := range []string{"1 node x 8 h100", "over 62 x 2 + 2 x 1 layers", "interleaved over 2 + 1 layers", "11 nodes", "1.1 steps", "stage 1: all", "and 1 more reason", "… 1 more stage …"} {
		if found := oddWords("x.txt", line); found != nil {
			t.Errorf("%q: %v", line, found)
		}
	}
	if oddWords("x.sh", "source . \n") != nil {
		t.Error("commands are no prose")
	}
}

// oddWordsIn does the same for all files of a folder.
func oddWordsIn(t *testing.T, root string) (found []string) {
	read := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		read++
		found = append(found, oddWords(filepath.ToSlash(name), string(content))...)
		return err
	})
	if err != nil {
		t.Fatal(read, " files read: ", err)
	}
	return found
}

// TestWordsOfExamples reads everything that the examples hold for people.
func TestWordsOfExamples(t *testing.T) {
	for _, words := range oddWordsIn(t, filepath.Join("..", "..", "examples")) {
		t.Error(words)
	}
}

// TestWordsOfMessages reads the messages that cases of other tests expect.
func TestWordsOfMessages(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("..", "..", "testdata", "diags", "*.hcl"))
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, name := range cases {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			for _, message := range regexp.MustCompile(`# (?:ERROR|WARNING): `).Split(line, -1)[1:] {
				for _, words := range oddWords(filepath.Base(name)+".txt", message) {
					t.Error(words)
				}
			}
		}
	}
}
