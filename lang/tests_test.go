package lang

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestManyRuns: runs of one file cost the same each, however many there are.
func TestManyRuns(t *testing.T) {
	const runs = 1500
	var text strings.Builder
	for i := range runs {
		fmt.Fprintf(&text, "run \"r%d\" {\n  variables {\n    n = %d\n  }\n  assert {\n    condition     = plan.feasible && plan.layout.tensor_parallel <= 8\n    error_message = \"It does not fit.\"\n  }\n}\n", i, i)
	}
	fsys := fstest.MapFS{
		"job.hcl":       {Data: []byte("variable \"n\" {\n  type = number\n}\n")},
		"x.ndctest.hcl": {Data: []byte(text.String())},
	}
	tests, diags := LoadTests(fsys, ".")
	if diags.HasErrors() || len(tests.Runs) != runs {
		t.Fatal(len(tests.Runs), diags)
	}
	began := time.Now()
	for i := range tests.Runs {
		w, diags := tests.Runs[i].Load(Options{})
		if len(diags) != 1 || diags[0].ID != NoJob || w.Files["x.ndctest.hcl"] == nil {
			t.Fatal(diags)
		}
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Error(took)
	}
}
