package review

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ndc-dev/ndc/review/record"
)

// byPairs is what renamed says, found by comparing each pair value by value.
func byPairs(before, after map[string]*Build) map[string]string {
	type pair struct {
		old, new  string
		different int
	}
	var pairs []pair
	for _, old := range without(before, after) {
		for _, new := range without(after, before) {
			a, b := before[old], after[new]
			same, different, runsOn := 0, 0, false
			for backend, values := range a.Values {
				at := a.saves(byPath(values))
				runsOn = runsOn || a.Name == b.Name && at != nil && reflect.DeepEqual(at, b.saves(byPath(b.Values[backend])))
			}
			for _, side := range [][2]*Build{{a, b}, {b, a}} {
				for backend, list := range side[0].Values {
					there := byPath(side[1].Values[backend])
					for _, v := range list {
						if w := there[v.Path]; w != nil && reflect.DeepEqual(v.Value, w.Value) {
							same++
						} else {
							different++
						}
					}
				}
			}
			for _, site := range []string{a.Site, b.Site} {
				if site != "" && a.Site == b.Site {
					same++
				} else if site != "" {
					different++
				}
			}
			if runsOn && a.Site == b.Site {
				pairs = append(pairs, pair{old, new, -2})
			} else if runsOn {
				pairs = append(pairs, pair{old, new, -1})
			} else if different <= same {
				pairs = append(pairs, pair{old, new, different})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.different, b.different) })
	was, taken := map[string]string{}, map[string]bool{}
	for _, p := range pairs {
		if was[p.new] == "" && !taken[p.old] {
			was[p.new], taken[p.old] = p.old, true
		}
	}
	return was
}

// TestRenamedPairs: looking jobs up finds what comparing all pairs would.
func TestRenamedPairs(t *testing.T) {
	values := []any{1.0, "1", "a", true, []any{1.0, "x"}, []any{"1", "x"}, map[string]any{"k": 1.0}, map[string]any{"k": "1"}}
	rapid.Check(t, func(r *rapid.T) {
		side := func(label string) map[string]*Build {
			m := map[string]*Build{}
			for i := range rapid.IntRange(0, 7).Draw(r, label) {
				name := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{label, "both"}).Draw(r, "name"), i)
				b := build(name, 1)
				b.Name = rapid.SampledFrom([]string{name, "x", "y"}).Draw(r, "own name")
				b.Site = rapid.SampledFrom([]string{"", "lab"}).Draw(r, "site")
				b.Block = rapid.SampledFrom([]string{"", "sweep"}).Draw(r, "block")
				b.Values = map[string][]record.Value{}
				for _, backend := range []string{"megatron", "torchtitan"}[:rapid.IntRange(1, 2).Draw(r, "backends")] {
					for _, path := range []string{"model.a", "model.b", "model.c", "training.checkpoint.path"} {
						if k := rapid.IntRange(-1, 12).Draw(r, path); k >= 0 {
							b.Values[backend] = append(b.Values[backend], record.Value{Path: path, Value: values[k%len(values)]})
						}
					}
				}
				m[name] = &b
			}
			return m
		}
		before, after := side("old"), side("new")
		if d := gocmp.Diff(byPairs(before, after), renamed(before, after)); d != "" {
			r.Errorf("-of all pairs +looked up:\n%s", d)
		}
	})
}

// TestRenamedSites: a job that is built for several sites now is that of the site at which it
// ran, although another one comes before it and says the same.
func TestRenamedSites(t *testing.T) {
	at := func(job, site string) *Build {
		b := build(job, 1, record.Value{Path: "training.checkpoint.path", Value: "/x"}, record.Value{Path: "training.seed", Value: 1.0})
		b.Name, b.Site = "x", site
		return &b
	}
	was := renamed(map[string]*Build{"x": at("x", "lab")}, map[string]*Build{"alps/x": at("alps/x", "alps"), "lab/x": at("lab/x", "lab")})
	if d := gocmp.Diff(map[string]string{"lab/x": "x"}, was); d != "" {
		t.Error(d)
	}
	unsaved := func(job, site string) *Build { // what saves nothing runs on nowhere
		b := at(job, site)
		b.Values = map[string][]record.Value{"megatron": {{Path: "training.seed", Value: 1.0}}}
		return b
	}
	was = renamed(map[string]*Build{"x": unsaved("x", "lab")}, map[string]*Build{"alps/x": unsaved("alps/x", "alps"), "lab/x": unsaved("lab/x", "lab")})
	if d := gocmp.Diff(map[string]string{"lab/x": "x"}, was); d != "" {
		t.Error(d)
	}
}

// sweep makes jobs of 100 values, of which one is each job's own, and another one
// every third's.
func sweep(name string, n int, seed float64) map[string]*Build {
	m := map[string]*Build{}
	for i := range n {
		list := []record.Value{{Path: "training.seed", Value: seed}, {Path: "training.optimizer.learning_rate", Value: float64(i)}, {Path: "training.steps", Value: float64(i % 3)}}
		for k := range 97 {
			list = append(list, record.Value{Path: fmt.Sprintf("model.w%d", k), Value: float64(k)})
		}
		b := build(fmt.Sprintf("%s-%04d", name, i), 1, list...)
		m[b.Job] = &b
	}
	return m
}

// TestRenamedSweep: four million pairs are not compared value by value, which takes
// minutes, also where all jobs changed with their names.
func TestRenamedSweep(t *testing.T) {
	const n = 2000
	for _, seed := range []float64{1, 2} {
		was := renamed(sweep("old", n, 1), sweep("new", n, seed))
		for i := range n {
			if got, want := was[fmt.Sprintf("new-%04d", i)], fmt.Sprintf("old-%04d", i); got != want {
				t.Fatalf("job %d was %q, want %q", i, got, want)
			}
		}
	}
}

// BenchmarkRenamed matches a thousand jobs, renamed alone and with a change in each.
func BenchmarkRenamed(b *testing.B) {
	for seed, name := range map[float64]string{1: "alone", 2: "changed"} {
		before, after := sweep("old", 1000, 1), sweep("new", 1000, seed)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				renamed(before, after)
			}
		})
	}
}
