package intake

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/tools/golden"
)

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestDocumentation: the example of docs/import.md gives what it says.
func TestDocumentation(t *testing.T) {
	const path = "../docs/import.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := fence.FindAllStringSubmatch(string(b), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, want the script, the job and the report", len(blocks))
	}
	r, diags := Import([]File{{Name: "run.sbatch", Content: []byte(blocks[0][2])}}, Options{Cluster: "dgx_h100"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var report strings.Builder
	for _, v := range []draft.Verdict{draft.Unknown, draft.Passed} {
		for _, f := range r.Findings {
			if f.Verdict == v {
				fmt.Fprintf(&report, "%s:%d: %s: %s: %s\n", f.File, f.Line, f.Verdict, strings.TrimSpace(f.Name+" "+f.Value), f.Why)
			}
		}
	}
	want := strings.Replace(string(b), blocks[1][0], "```hcl\n"+string(r.Job)+"```", 1)
	want = strings.Replace(want, "reports\n\n"+blocks[2][0], "reports\n\n```\n"+report.String()+"```", 1)
	golden.Compare(t, path, []byte(want))
}
