package megatron

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/backends/megatron"
	language "github.com/ndc-dev/ndc/lang/schema"
)

// settled are words that several options say together, of which complete makes
// those of the language.
var settled = map[string]string{"--cuda-graph-impl": "local", "--fp8-recipe": "mxfp8"}

// TestRows: every row is about an option that a release has, names an argument or
// block of the language with values that it takes, and has a source.
func TestRows(t *testing.T) {
	for name, w := range rows() {
		known := slices.ContainsFunc(megatron.Backend{}.Versions(), func(version string) bool {
			table, _ := megatron.Tables(version)
			return table.Has(name)
		})
		if !known || !strings.HasPrefix(w.Source, "Megatron-LM core_v") || !strings.Contains(w.Source, ".py") {
			t.Errorf("%s: known to a release: %v, source %q", name, known, w.Source)
		}
		if w.Argument == "" && w.Silent == "" || w.Values != nil && w.Says != nil {
			t.Errorf("%s says nothing, or two things", name)
		}
		values := []any{}
		for _, v := range w.Values {
			values = append(values, v)
		}
		if w.Says != nil {
			values = append(values, w.Says)
		}
		if a := Argument(w.Argument); w.Argument != "" && a != nil {
			for _, v := range values {
				if text, isText := v.(string); isText && a.Enum != nil && text != settled[name] && !slices.Contains(a.Enum, text) {
					t.Errorf("%s: %q is no value of %s", name, text, w.Argument)
				}
			}
		} else if b := blockAt(w.Argument); w.Argument != "" && (b == nil || len(b.Labels) == 0 && w.Says != true) {
			t.Errorf("%s: the language has no %s", name, w.Argument)
		} else if w.Argument != "" && w.Says != true {
			for _, v := range values {
				if !slices.Contains(b.Labels, fmt.Sprint(v)) {
					t.Errorf("%s: %v is no label of %s", name, v, w.Argument)
				}
			}
		}
	}
}

// blockAt finds the block of the language at a path of a job or model.
func blockAt(path string) *language.Block {
	b := language.File.Block("job")
	words := strings.Split(path, ".")
	if words[0] == "model" || words[0] == "cluster" {
		b, words = language.File.Block(words[0]), words[1:]
	}
	for _, w := range words {
		if b = b.Block(w); b == nil {
			return nil
		}
	}
	return b
}
