package lint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/diag"
)

// judged is a finding in a public script that a person looked into: whether it
// is true, and why not where it is false.
type judged struct {
	Repo    string  `json:"repo"`
	Path    string  `json:"path"`
	Commit  string  `json:"commit"`
	Line    int     `json:"line"`
	Rule    diag.ID `json:"rule"`
	Verdict string  `json:"verdict"`
	Why     string  `json:"why,omitempty"`
}

// TestCorpus: of the findings in public scripts, 95 in 100 are true. The scripts
// themselves stay where they are: NDC_CORPUS names a folder that holds them as
// REPO/COMMIT/PATH, in which case the findings are made again.
func TestCorpus(t *testing.T) {
	b, err := os.ReadFile("../../testdata/lint/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all, right := 0, 0
	rules := map[diag.ID]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var j judged
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		all++
		rules[j.Rule] = true
		if j.Verdict == "true" {
			right++
		} else if j.Verdict != "false" || j.Why == "" {
			t.Errorf("%s:%d: %q is no verdict with a reason", j.Path, j.Line, j.Verdict)
		}
		if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == j.Rule }) {
			t.Errorf("%s:%d: there is no rule %s", j.Path, j.Line, j.Rule)
		}
		if folder := os.Getenv("NDC_CORPUS"); folder != "" {
			src, err := os.ReadFile(filepath.Join(folder, j.Repo, j.Commit, j.Path))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(Check(j.Path, src, Options{}), func(d diag.Diagnostic) bool { return d.ID == j.Rule && d.Range.Start.Line == j.Line }) {
				t.Errorf("%s:%d: %s is not found any more", j.Path, j.Line, j.Rule)
			}
		}
	}
	if all < 40 || 100*right < 95*all || len(rules) < 15 {
		t.Errorf("%d of %d findings of %d rules are true", right, all, len(rules))
	}
}
