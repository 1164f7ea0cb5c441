package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang/schema"
)

// TestUpToDate: the committed reference is what the tables say.
func TestUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../" + languagePath)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(reference())); d != "" {
		t.Errorf("%s is not up to date (run go run ./tools/docs):\n%s", languagePath, d)
	}
}

// TestDocumented: every block and argument says what it means.
func TestDocumented(t *testing.T) {
	var walk func(b *schema.Block, path string)
	walk = func(b *schema.Block, path string) {
		if !strings.HasSuffix(b.Doc, ".") {
			t.Errorf("%s: %q is not a sentence", path, b.Doc)
		}
		for _, a := range b.Arguments {
			if !strings.HasSuffix(a.Doc, ".") || len(a.Doc) < 5 {
				t.Errorf("%s.%s: %q is not a sentence", path, a.Name, a.Doc)
			}
			if a.Required && (a.Default != "" || a.DefaultDoc != "") {
				t.Errorf("%s.%s is required and has a default", path, a.Name)
			}
		}
		for i := range b.Blocks {
			walk(&b.Blocks[i], path+"."+b.Blocks[i].Name)
		}
	}
	walk(&schema.File, "")
}

// TestRecordSchema: the committed schema is up to date, and every member says
// what it is.
func TestRecordSchema(t *testing.T) {
	want, err := recordSchema(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + recordPath)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("%s is not up to date (run go run ./tools/docs):\n%s", recordPath, d)
	}
	var s struct {
		Properties map[string]struct{ Description string }
		Defs       map[string]struct {
			Properties map[string]struct{ Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(want, &s); err != nil {
		t.Fatal(err)
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for _, d := range s.Defs {
		for name, p := range d.Properties {
			if p.Description == "" {
				t.Errorf("%s has no description", name)
			}
		}
	}
	if len(s.Properties) < 7 || len(s.Defs) != 2 {
		t.Errorf("%d members and %d definitions", len(s.Properties), len(s.Defs))
	}
}

// TestDiagnostics: the committed index is up to date, and every id has a
// meaning.
func TestDiagnostics(t *testing.T) {
	want, err := diagnosticsIndex(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + diagnosticsPath)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("%s is not up to date (run go run ./tools/docs):\n%s", diagnosticsPath, d)
	}
	if strings.Contains(string(want), "|  |") {
		t.Error("an id has no comment that says what it means")
	}
}

// TestDrawings: the committed pictures are of today's plans.
func TestDrawings(t *testing.T) {
	for _, d := range drawings {
		want, err := draw(os.DirFS("../.."), d.example, d.kind)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../" + d.path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not up to date (run go run ./tools/docs)", d.path)
		}
	}
}

// TestSchedules: the committed picture shows today's orders, eight of them.
func TestSchedules(t *testing.T) {
	got, err := os.ReadFile("../../" + schedulesPath)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(schedules()); string(got) != want {
		t.Errorf("%s is not up to date (run go run ./tools/docs)", schedulesPath)
	}
	if n := strings.Count(string(got), "in flight at most"); n != 8 {
		t.Errorf("%d schedules are drawn", n)
	}
}

// TestLintPage: the committed page of the rules is up to date.
func TestLintPage(t *testing.T) {
	want, err := lintPage(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + lintPath)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("%s is not up to date (run go run ./tools/docs):\n%s", lintPath, d)
	}
}
