package refusals

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/drafts"
	"github.com/ndc-dev/ndc/integration/summary"
	"github.com/ndc-dev/ndc/tools/golden"
)

// The table stands between these lines of docs/conformance.md.
const (
	begin = "<!-- table: broken rules -->\n"
	end   = "<!-- end of broken rules -->\n"
)

// TestTable: the document shows the cases as they are.
func TestTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "conformance.md")
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(document), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("the document has no place for the table")
	}
	golden.Compare(t, path, []byte(head+begin+Table(summary.Merge(head, nil))+end+tail))
}

// TestAnswers: a framework refuses with words, or there is a reason; what
// cannot be asked has a reason.
func TestAnswers(t *testing.T) {
	for _, set := range Cases {
		for _, c := range set.Cases {
			if c.Says != "" && c.Why != "" || c.Unasked && c.Why == "" {
				t.Errorf("%s: says %q, why %q", c.Rule, c.Says, c.Why)
			}
		}
	}
}

// TestCases: every case breaks its rule and no other.
func TestCases(t *testing.T) {
	for framework, set := range Cases {
		for _, c := range set.Cases {
			_, broken, err := Launch(framework, c)
			if err != nil {
				t.Error(err)
				continue
			}
			if len(broken) != 1 || broken[0] != c.Rule {
				t.Errorf("%s (%s) breaks %v", c.Rule, c.What, broken)
			}
		}
	}
}

// TestEveryRule: no rule of a framework is without a case, so that none stands
// that no job can break.
func TestEveryRule(t *testing.T) {
	for framework, set := range Cases {
		for _, version := range artifacts.Backends[framework].Versions() {
			j, err := drafts.Load(strings.ReplaceAll(set.Source, "VERSION", version), "dense")
			if err != nil {
				t.Fatal(err)
			}
			target, diags := artifacts.Backends[framework].Target(j)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			for _, r := range target.Rules {
				if !slices.ContainsFunc(set.Cases, func(c Case) bool { return c.Rule == r.ID }) {
					t.Errorf("%s %s: no case breaks %s", framework, version, r.ID)
				}
			}
		}
	}
}
