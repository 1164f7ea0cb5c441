//go:build conformance

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// TestFromWheels packs each framework, installs it from the folder alone in
// front of a torch that lies elsewhere, and imports it.
func TestFromWheels(t *testing.T) {
	if os.Getenv("NDC_CONFORMANCE_CHEAP") != "" {
		t.Skip("skipped: part of the full run")
	}
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			e := Environment(kind, environment.Newest(kind))
			line := &summary.Line{Framework: kind, Version: environment.Newest(kind), What: "packed as wheels, and installed without an index"}
			line.AddAfter(t)
			line.Count(t)
			if _, err := e.Python(); err != nil {
				line.Skipped = err.Error()
				t.Skip("skipped: ", err)
			}
			cache, err := environment.Cache()
			if err != nil {
				t.Fatal(err)
			}
			wheels := t.TempDir()
			if err := e.Wheels(wheels); err != nil {
				t.Fatal(err)
			}
			t.Setenv("NDC_CACHE", t.TempDir())
			t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:1") // nobody answers
			t.Setenv("NDC_WHEELS", wheels)
			t.Setenv("NDC_PYTHON", filepath.Join(cache, "torch-"+e.Torch, "bin", "python"))
			python, _, err := Interpreter(kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, module := range slices.Concat([]string{"torch"}, e.Imports) {
				cmd := exec.Command(python, "-c", "import "+module)
				cmd.Env = append(os.Environ(), "DS_ACCELERATOR=cpu")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("import %s: %v\n%s", module, err, environment.Tail(string(out), 5))
				}
			}
		})
	}
}
