package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/review"
	"github.com/ndc-dev/ndc/tools/golden"
)

// fewestAgreed is how many of the historical changes have the labels that their
// authors' words give them. The others say why not.
const fewestAgreed = 30

// TestHistory compares published recipes before and after changes of their
// history, each as two jobs: changes must have the labels that the file says,
// which are those of the author's words but where it says why.
func TestHistory(t *testing.T) {
	names, err := filepath.Glob("../../testdata/review/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d changes: %v", len(names), err)
	}
	agreed := 0
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			facts := factsOf(t, a)
			labels, told := labelsOf(t, a)
			if labels != facts["labels"] {
				t.Errorf("labelled %q, want %q", labels, facts["labels"])
			}
			if labels == facts["author"] {
				agreed++
			} else if facts["why"] == "" {
				t.Error("it does not say why its labels are not those of the author's words")
			}
			checkTold(t, name, a, told)
		})
	}
	t.Logf("%d of %d changes have the labels of their authors' words", agreed, len(names))
	if agreed < fewestAgreed && !t.Failed() {
		t.Errorf("only %d changes have the labels of their authors' words", agreed)
	}
}

// factsOf reads the lines above the files: where the change was published, and
// in which words.
func factsOf(t *testing.T, a *txtar.Archive) map[string]string {
	t.Helper()
	facts := map[string]string{}
	for line := range strings.Lines(string(a.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		facts[name] = value
	}
	for _, name := range []string{"repository", "path", "words", "author", "labels"} {
		if facts[name] == "" {
			t.Errorf("it does not say its %s", name)
		}
	}
	if len(facts["commit"]) != 40 {
		t.Errorf("%q is no commit", facts["commit"])
	}
	return facts
}

// labelsOf compares the two jobs and returns the labels of the changes that a
// reader is told of, and those changes.
func labelsOf(t *testing.T, a *txtar.Archive) (labels, told string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range a.Files[:2] {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if run([]string{"diff", filepath.Join(dir, "old.hcl"), filepath.Join(dir, "new.hcl"), "--format", "sarif"}, &stdout, &stderr) != exitOK {
		t.Fatal(stderr.String())
	}
	var log review.SARIF
	if err := json.Unmarshal(stdout.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, r := range log.Runs[0].Results {
		seen = append(seen, r.RuleID)
		told += fmt.Sprintf("%s: %s\n", r.RuleID, r.Message.Text)
	}
	return strings.Join(slices.Compact(seen), " "), told
}

// checkTold holds what a reader is told to the last file of the archive.
func checkTold(t *testing.T, name string, a *txtar.Archive, told string) {
	t.Helper()
	a.Files = append(a.Files[:2:2], txtar.File{Name: "changes", Data: []byte(told)})
	golden.Compare(t, name, txtar.Format(a))
}
