package ndc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	options "github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/lang/schema"
)

// TestArgumentsOfOptionsExist: what a message tells to set is in the language.
func TestArgumentsOfOptionsExist(t *testing.T) {
	files, err := filepath.Glob("backends/*/options.jsonl")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	i := slices.IndexFunc(schema.File.Blocks, func(b schema.Block) bool { return b.Name == "job" })
	m := slices.IndexFunc(schema.File.Blocks, func(b schema.Block) bool { return b.Name == "model" })
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range options.EmbeddedClasses(string(content)).All() {
			path, in := strings.Split(c.Argument, "."), &schema.File.Blocks[i]
			if path[0] == "model" {
				path, in = path[1:], &schema.File.Blocks[m]
			}
			if c.Kind == options.Job && !inLanguage(in, path) {
				t.Errorf("%s: %v are set by %s, which the language does not have", file, c.Options, c.Argument)
			}
			if c.Kind != options.Job && (c.Argument != "" || c.Why == "") {
				t.Errorf("%s: %v are %q: no argument, and a reason", file, c.Options, c.Kind)
			}
		}
	}
}

func inLanguage(b *schema.Block, path []string) bool {
	if len(path) == 0 || len(path) == 1 && b.Argument(path[0]) != nil {
		return true
	}
	inner := b.Block(path[0])
	return inner != nil && inLanguage(inner, path[1:])
}
