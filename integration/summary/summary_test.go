package summary

import (
	"path/filepath"
	"testing"
)

func TestLinesCrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	t.Setenv(File, path)
	for _, l := range []Line{
		{Framework: "torchtitan", Version: "0.3.0", What: "examples", Accepted: 3, Rejected: 1},
		{Framework: "megatron", Version: "core_v0.15.3", What: "examples", Skipped: "no wheel | no checkout"},
	} {
		if err := Add(l); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `| framework | version | what was asked | accepted | rejected | skipped |
|---|---|---|---|---|---|
| megatron | core_v0.15.3 | examples | 0 | 0 | no wheel / no checkout |
| torchtitan | 0.3.0 | examples | 3 | 1 |  |
`
	if got := Table(list); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
