package torchtitan

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestRuleTable keeps the table of rules in the documents.
func TestRuleTable(t *testing.T) {
	const path, begin, end = "../../docs/torchtitan.md", "<!-- rules -->\n", "<!-- end of rules -->"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatal("no markers for the rules")
	}
	golden.Compare(t, path, []byte(before+begin+ruleTable()+end+after))
}

func ruleTable() string {
	var s strings.Builder
	s.WriteString("| id | release | reason |\n|---|---|---|\n")
	for _, list := range []struct {
		release string
		rules   []target.Rule
	}{
		{"both", slices.Concat(commonRules, conflicts(true))},
		{"0.2.2", slices.Concat(rules022, conflicts(false, "0.2.2"), queryRules022)},
		{"0.3.0", slices.Concat(rules030, conflicts(false, "0.3.0"))},
	} {
		for _, r := range list.rules {
			fmt.Fprintf(&s, "| `%s` | %s | %s |\n", r.ID, list.release, r.Reason)
		}
	}
	return s.String()
}

// conflicts are the rules that options of execution bring in every release, or in
// some alone.
func conflicts(everywhere bool, releases ...string) (some []target.Rule) {
	times := map[diag.ID]int{}
	for _, v := range versions {
		for _, r := range v.execution().Conflicts() {
			times[r.ID]++
			if (times[r.ID] == len(versions)) == everywhere && (everywhere || slices.Contains(releases, v.name)) {
				some = append(some, r)
			}
		}
	}
	return slices.DeleteFunc(some, func(r target.Rule) bool { return (times[r.ID] == len(versions)) != everywhere })
}
