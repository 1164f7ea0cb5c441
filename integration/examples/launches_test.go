//go:build conformance

package examples

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/integration/artifacts"
)

// TestLaunches hands the launches that others published, written as jobs, to the
// frameworks: with the layouts of their sources, and in a full run also with
// those that ndc chooses. A sample is one in four. TestPage of tools/launches asks what each lacks.
func TestLaunches(t *testing.T) {
	sampled := os.Getenv("NDC_CONFORMANCE_CHEAP") != ""
	paths, err := filepath.Glob(filepath.Join(root, "testdata", "launches", "*.hcl"))
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), " published launches: ", err)
	}
	var pinned, free []*artifacts.Launch
	for i, path := range paths {
		if sampled && i%4 != 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".hcl")
		jobs, diags := artifacts.BuildSome(src, func(job string) bool { return !sampled || job == name })
		if diags.HasErrors() {
			t.Fatal(path, diags)
		}
		for _, b := range jobs {
			switch {
			case b.Launch == nil:
				t.Errorf("%s: %v", path, b.Refused)
			case b.Launch.Name == name:
				pinned = append(pinned, b.Launch)
			default:
				free = append(free, b.Launch)
			}
		}
	}
	for _, group := range slices.Concat(byVersion(pinned), byVersion(free)) {
		l, what := group[0], "published launches, first rank up to the mesh"
		if strings.HasSuffix(l.Name, "-free") {
			what = "published launches, layout left to ndc"
		}
		t.Run(l.Framework+"/"+l.Version, func(t *testing.T) { artifacts.Ask(t, group, artifacts.Cheap, root, what) })
	}
}
