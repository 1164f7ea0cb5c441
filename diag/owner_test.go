package diag

import (
	"testing"
)

// TestAttribute: what some owners have in a file of all says whose it is; what all have, what
// lies in the owner's own file and what is a warning says nothing.
func TestAttribute(t *testing.T) {
	shared := func(severity Severity, detail string) Diagnostic {
		return Diagnostic{Severity: severity, Detail: detail, Range: Range{Filename: "module.hcl"}}
	}
	own := Diagnostic{Detail: "Own.", Range: Range{Filename: "jobs.hcl"}}
	common, warning := shared(Error, "Common."), shared(Warning, "Warned.")
	all := []Owned{
		{"a", "jobs.hcl", List{common, shared(Error, "Ours."), own}},
		{"b", "jobs.hcl", List{common, shared(Error, "Ours."), warning}},
		{"c", "jobs.hcl", List{common, shared(Error, "Mine.")}},
		{"c", "jobs.hcl", List{common, shared(Error, "Mine.")}}, // another of its elements
	}
	Attribute("job", all)
	for i, want := range [][]string{
		{"Common.", `Ours. It is so in jobs "a" and "b".`, "Own."},
		{"Common.", `Ours. It is so in jobs "a" and "b".`, "Warned."},
		{"Common.", `Mine. It is so in job "c".`},
		{"Common.", `Mine. It is so in job "c".`},
	} {
		for k, d := range all[i].List {
			if d.Detail != want[k] {
				t.Errorf("%s: %q, want %q", all[i].Owner, d.Detail, want[k])
			}
		}
	}
	if got := some("job", []string{"a", "b", "c", "d", "e", "f", "g"}); got != `jobs "a", "b", "c", "d", "e" and 2 more` {
		t.Error(got)
	}
}
