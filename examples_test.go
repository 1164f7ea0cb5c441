package ndc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang"
)

// TestExamplesLoad resolves every example, holds it to the canonical format
// and to its folder's name, and asks that together they use every backend.
func TestExamplesLoad(t *testing.T) {
	paths, err := filepath.Glob("examples/*/job.hcl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no examples: ", err)
	}
	backends := map[string]bool{}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			formatted, diags := lang.Format(src, path)
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(string(src), string(formatted)); diff != "" {
				t.Errorf("not formatted (-file +formatted):\n%s", diff)
			}
			w, diags := lang.Load(os.DirFS("."), filepath.ToSlash(path), lang.Options{})
			for _, d := range diags {
				t.Errorf("line %d: %s: %s", d.Range.Start.Line, d.Summary, d.Detail)
			}
			if len(w.Jobs) == 0 {
				t.Fatal("no jobs")
			}
			for _, j := range w.Jobs {
				if j.Name != name {
					t.Errorf("job %q in the folder %q", j.Name, name)
				}
				backends[j.Backend.Kind] = true
			}
		})
	}
	if len(backends) != 3 {
		t.Errorf("the examples use the backends %v, want all three", backends)
	}
}
