package diag

import (
	"testing"
)

// TestAttribute: what some owners have in a file of all, or in another of them, says whose it
// is; what all have, what lies in the owner's own file and what is a warning says nothing.
func TestAttribute(t *testing.T) {
	shared := func(severity Severity, detail string) Diagnostic {
		return Diagnostic{Severity: severity, Detail: detail, Range: Range{Filename: "module.hcl"}}
	}
	own := Diagnostic{Detail: "Own.", Range: Range{Filename: "jobs.hcl"}}
	common, warning := shared(Error, "Common."), shared(Warning, "Warned.")
	jobs := Range{Filename: "jobs.hcl"}
	all := []Owned{
		{"a", jobs, nil, List{common, shared(Error, "Ours."), own}},
		{"b", jobs, nil, List{common, shared(Error, "Ours."), warning}},
		{"c", jobs, nil, List{common, shared(Error, "Mine.")}},
		{"c", jobs, nil, List{common, shared(Error, "Mine.")}}, // another of its elements
	}
	Attribute("job", all, Error)
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
	block := func(start, end int) Range {
		return Range{Filename: "jobs.hcl", Start: Position{Byte: start}, End: Position{Byte: end}}
	}
	inFirst := Diagnostic{Detail: "Theirs.", Range: block(10, 20)}
	based := []Owned{
		{"first", block(0, 100), []List{{inFirst}}, nil},
		{"second", block(100, 200), []List{{inFirst}}, List{inFirst}},
	}
	Attribute("job", based, Error)
	if got := based[1].List[0].Detail; got != `Theirs. It is so in job "second", where what a base has can be overridden, or left out by without = […].` {
		t.Error(got)
	}
	warned := []Owned{{"a", jobs, nil, List{warning}}, {"b", jobs, nil, nil}}
	if Attribute("job", warned, Error, Warning); warned[0].List[0].Detail != `Warned. It is so in job "a".` {
		t.Error(warned[0].List[0].Detail)
	}
	if got := some("job", []string{"a", "b", "c", "d", "e", "f", "g"}); got != `jobs "a", "b", "c", "d", "e" and 2 more` {
		t.Error(got)
	}
}
