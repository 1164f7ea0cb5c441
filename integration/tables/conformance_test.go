//go:build conformance

package tables

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

const root = "../.."

// generators print the table of what is installed.
var generators = map[string]string{
	"megatron":   "tools/schema-megatron/dump.py",
	"torchtitan": "backends/torchtitan/schema/generate.py",
	"deepspeed":  "tools/schema-deepspeed/dump.py",
}

// TestDrift compares the committed table of every release that can be
// installed, whole.
func TestDrift(t *testing.T) {
	for _, e := range environment.All() {
		t.Run(e.Name, func(t *testing.T) {
			framework, version, _ := strings.Cut(e.Name, "-")
			if framework == "megatron" {
				version = "core_v" + version
			}
			line := summary.Line{Framework: framework, Version: version, What: "option table, generated again"}
			defer func() {
				if err := summary.Add(line); err != nil {
					t.Error(err)
				}
			}()
			python, err := e.Python()
			if err != nil {
				line.Skipped = err.Error()
				t.Skip("skipped: ", err)
			}
			got, err := environment.Ask(1, nil, []string{"DS_ACCELERATOR=cpu"}, python, filepath.Join(root, generators[framework]))
			if err != nil {
				t.Fatal(err)
			}
			name, want := committed(t, framework, version)
			if got == want {
				line.Accepted = 1
				return
			}
			line.Rejected = 1
			t.Errorf("%s has drifted; %s prints\n%s", name, generators[framework], difference(want, got))
		})
	}
}

// committed is the table that stands for a version: the newest that is not
// newer.
func committed(t *testing.T, framework, version string) (name, content string) {
	t.Helper()
	versions := artifacts.Backends[framework].Versions()
	for i := slices.Index(versions, version); i >= 0; i-- {
		name := filepath.Join(root, "backends", framework, "schema", versions[i]+".jsonl")
		if content, err := os.ReadFile(name); err == nil {
			return name, string(content)
		}
	}
	t.Fatalf("no table for %s %s", framework, version)
	return "", ""
}

// difference lists the lines that only one side has.
func difference(want, got string) string {
	var b strings.Builder
	for sign, sides := range map[string][2]string{"-": {want, got}, "+": {got, want}} {
		theirs := map[string]bool{}
		for line := range strings.Lines(sides[1]) {
			theirs[line] = true
		}
		for line := range strings.Lines(sides[0]) {
			if !theirs[line] {
				b.WriteString(sign + line)
			}
		}
	}
	return b.String()
}
