package summary

import (
	"path/filepath"
	"testing"
)

// TestLinesCrossProcesses: what several processes add to one file is one table, sorted by
// framework and version.
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

// stub is a test that has ended.
type stub struct {
	failed, skipped bool
	after           []func()
}

func (s *stub) Cleanup(f func()) { s.after = append([]func(){f}, s.after...) }
func (s *stub) Failed() bool     { return s.failed }
func (s *stub) Skipped() bool    { return s.skipped }
func (s *stub) Error(...any)     {}

// TestCount: a line counts tests when they have ended; one about nothing is
// not added.
func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	t.Setenv(File, path)
	line := &Line{Framework: "f", What: "w"}
	for _, s := range []*stub{{}, {failed: true}, {skipped: true}, {}} {
		line.Count(s)
		for _, f := range s.after {
			f()
		}
	}
	for _, l := range []*Line{line, {Framework: "f", What: "nothing"}} {
		s := &stub{}
		l.AddAfter(s)
		s.after[0]()
	}
	list, err := Read(path)
	if err != nil || len(list) != 1 || list[0].Accepted != 2 || list[0].Rejected != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestMerge: runs of the same are added up; rows of earlier runs stay, unless
// they were asked again.
func TestMerge(t *testing.T) {
	table := Table([]Line{
		{Framework: "a", Version: "1", What: "x", Accepted: 1, Skipped: "cannot be had"},
		{Framework: "a", Version: "1", What: "y", Accepted: 2, Skipped: "3 are large"},
		{Framework: "shellcheck", What: "scripts", Accepted: 4},
	})
	now := Sum([]Line{
		{Framework: "a", Version: "1", What: "x", Accepted: 5, Skipped: "1 asks"},
		{Framework: "a", Version: "1", What: "x", Accepted: 6, Rejected: 1, Skipped: "2 asks"},
	})
	const want = `| framework | version | what was asked | accepted | rejected | skipped |
|---|---|---|---|---|---|
| a | 1 | x | 11 | 1 | 3 asks |
| a | 1 | y | 2 | 0 | 3 are large |
| shellcheck |  | scripts | 4 | 0 |  |
`
	if got := Table(Merge(table, now)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
