package resume

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/review"
)

// TestTable holds the table of package review against every pair of layouts
// that was saved and loaded: it may promise neither more nor less.
func TestTable(t *testing.T) {
	results := Recorded()
	if len(results) < 60 {
		t.Errorf("%d pairs are recorded, want at least 60", len(results))
	}
	seen := map[string]bool{}
	for _, r := range results {
		if seen[r.Name()] {
			t.Errorf("%s is recorded twice", r.Name())
		}
		seen[r.Name()] = true
		if r.Answer == Wrong {
			t.Errorf("%s: the run went on with other numbers", r.Name())
		}
		if r.Answer != review.NotResumable && !(r.Weights && r.Optimizer && r.Rest["data"]) {
			t.Errorf("%s: %s, but not all was loaded", r.Name(), r.Answer)
		}
		if got := review.Resume(r.plan(r.Old), r.plan(r.New)); got.Answer != r.Answer {
			t.Errorf("%s: the table says %+v, the framework %s", r.Name(), got, r.Answer)
		}
	}
}

// TestArgumentTable holds the table of arguments of package review against what every
// release did with each that was changed.
func TestArgumentTable(t *testing.T) {
	results := RecordedArguments()
	asked := 0
	for _, f := range Frameworks {
		asked += len(f.Versions) * len(Arguments)
	}
	if len(results) != asked {
		t.Errorf("%d changes are recorded, want %d", len(results), asked)
	}
	count := map[[3]string]int{}
	for _, r := range results {
		count[[3]string{r.Framework, r.Version, r.Answer}]++
		answer := "taken"
		switch taken := review.TakenBy(&plan.Plan{Backend: r.Framework, BackendVersion: r.Version}, []string{r.Argument}); {
		case taken.Refused != nil:
			answer = "refused"
		case len(taken.Kept) > 0:
			answer = "kept"
		}
		if answer != r.Answer {
			t.Errorf("%s %s: the table says that %s is %s, and it was %s", r.Framework, r.Version, r.Argument, answer, r.Answer)
		}
	}
	document, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Frameworks {
		for _, version := range f.Versions {
			n := func(answer string) int { return count[[3]string{f.Name, version, answer}] }
			row := fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", f.Name, version, len(Arguments), n("taken"), n("kept"), n("refused"))
			if !strings.Contains(string(document), row) {
				t.Errorf("docs/conformance.md lacks the row\n%s", row)
			}
		}
	}
}

// plan is a plan of which the layout alone counts.
func (r Result) plan(l file.Layout) *plan.Plan {
	p := file.Plan{Backend: r.Framework, BackendVersion: r.Version, Layout: l}
	return p.Decision()
}

// TestPairs: pairs name layouts that exist, and each once.
func TestPairs(t *testing.T) {
	for _, f := range Frameworks {
		seen := map[[2]string]bool{}
		for _, p := range f.Pairs {
			if seen[p] {
				t.Errorf("%s: %v twice", f.Name, p)
			}
			seen[p] = true
			for _, name := range p {
				if !slices.ContainsFunc(f.Layouts, func(l Layout) bool { return l.Name == name }) {
					t.Errorf("%s has no layout %s", f.Name, name)
				}
			}
		}
		for _, p := range f.Cheap {
			if !seen[p] {
				t.Errorf("%s: %v is asked in CI only", f.Name, p)
			}
		}
	}
}

// TestDocument: docs/conformance.md counts the recorded pairs.
func TestDocument(t *testing.T) {
	results := Recorded()
	document, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Frameworks {
		for _, version := range f.Versions {
			count, all := map[review.Answer]int{}, 0
			for _, r := range results {
				if r.Framework == f.Name && r.Version == version {
					count[r.Answer]++
					all++
				}
			}
			row := fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d |\n", f.Name, version, all, count[review.Keeps], count[review.Reshards], count[review.Converts], count[review.NotResumable], count[Wrong])
			if all > 0 && !strings.Contains(string(document), row) {
				t.Errorf("docs/conformance.md lacks the row\n%s", row)
			}
		}
	}
}
