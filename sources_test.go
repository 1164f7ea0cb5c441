package ndc

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSources: every record of facts says where it is from, as a whole or part by part.
func TestSources(t *testing.T) {
	files := 0
	for _, pattern := range []string{"*/data/*.json*", "*/*/data/*.json*", "*/*/*/data/*.json*", "intake/*.jsonl", "intake/*/*.jsonl", "review/*.jsonl"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if name != filepath.FromSlash("intake/huggingface/classes.jsonl") { // of whole releases, which it names
				checkSources(t, name)
			}
		}
		files += len(names)
	}
	if files < 50 {
		t.Errorf("%d files of facts were found", files)
	}
}

func checkSources(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for n := 1; ; n++ {
		var record any
		switch err := d.Decode(&record); {
		case err == io.EOF:
			return
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		case !hasSource(record):
			t.Errorf("%s: record %d has no source", name, n)
		}
	}
}

// hasSource reports whether an object has a member that is a source, or all objects and
// lists in it do.
func hasSource(v any) bool {
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		for name, member := range v {
			switch member := member.(type) {
			case string:
				if member != "" && strings.HasSuffix(strings.ToLower(name), "source") {
					return true
				}
			case []any, map[string]any:
				parts = append(parts, member)
			}
		}
	}
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part any) bool { return !hasSource(part) })
}
