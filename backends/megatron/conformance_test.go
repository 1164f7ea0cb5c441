//go:build conformance

package megatron

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	conformance "github.com/ndc-dev/ndc/integration/megatron"
	"github.com/ndc-dev/ndc/integration/summary"
)

// TestConformance hands every case to the real Megatron-LM of its version, as
// emitted: arguments, configuration, meshes, and the first rank of every pipeline
// stage built up to its schedule. NDC_MEGATRON_CASES selects by a regular
// expression.
func TestConformance(t *testing.T) {
	h, err := conformance.New("../../integration/megatron")
	if err != nil {
		t.Skip(err)
	}
	selected := regexp.MustCompile(cmp.Or(os.Getenv("NDC_MEGATRON_CASES"), "."))
	groups := map[[2]string][]conformance.Launch{}
	for _, c := range launches() {
		if !selected.MatchString(c.name) {
			continue
		}
		l := emitted(t, c)
		key := [2]string{l.Version, l.Capability}
		groups[key] = append(groups[key], l)
	}
	keys := make([][2]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, k := range keys {
		t.Run(fmt.Sprint(k[0], "/", k[1]), func(t *testing.T) {
			if _, _, err := h.Source(k[0]); err != nil {
				if err := summary.Add(summary.Line{Framework: "megatron", Version: k[0], What: "golden cases", Skipped: err.Error()}); err != nil {
					t.Error(err)
				}
				t.Skip("skipped: ", err)
			}
			judge(t, h, groups[k])
		})
	}
}

func emitted(t *testing.T, c launch) conformance.Launch {
	artifacts, diags := Backend{}.Emit(c.job, c.plan)
	if diags.HasErrors() {
		t.Fatal(c.name, diags)
	}
	l := conformance.Launch{
		Name: c.name, Version: c.job.Backend.Version, Capability: c.job.Cluster.GPU.ComputeCapability,
		Nodes: c.job.Cluster.Nodes, PerNode: c.job.Cluster.GPUsPerNode, Files: map[string][]byte{},
		Unbuildable: c.plan.Execution.FullySharded || c.job.Training.Optimizer.Kind == "muon",
	}
	for _, f := range artifacts {
		l.Files[f.Path] = f.Content
	}
	stages := c.plan.Layout.PipelineParallel
	for s := range stages {
		if s < 2 || s >= stages-2 { // stages between are like their neighbours
			l.Ranks = append(l.Ranks, s*c.plan.Layout.GPUs()/stages)
		}
	}
	return l
}

// what is asked, built or not.
var what = map[bool]string{true: "golden cases, ranks built up to the schedule", false: "golden cases that cannot be built here, up to the mesh"}

// judge demands that Megatron-LM accepts every launch.
func judge(t *testing.T, h *conformance.Harness, launches []conformance.Launch) {
	for _, built := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(launches), func(l conformance.Launch) bool { return l.Unbuildable == built })
		if len(some) == 0 {
			continue
		}
		answers, err := h.Judge(some, built, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, l := range some {
			want += len(l.Ranks)
		}
		if len(answers) != want {
			t.Errorf("%d answers for %d ranks", len(answers), want)
		}
		line := summary.Line{Framework: "megatron", Version: some[0].Version, What: what[built]}
		for _, a := range answers {
			if a.Accepted {
				line.Accepted++
			} else {
				line.Rejected++
				t.Errorf("%s rank %d (built: %t): %s: %s", a.ID, a.Rank, built, a.Stage, a.Error)
			}
		}
		if err := summary.Add(line); err != nil {
			t.Error(err)
		}
	}
}
