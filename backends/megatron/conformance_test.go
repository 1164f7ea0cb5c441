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

// TestConformance hands every case to the real Megatron-LM of its version:
// as emitted through its arguments, configuration and meshes, and built on the
// first rank of every pipeline stage. NDC_MEGATRON_CASES selects by a regular
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

// judge demands that Megatron-LM accepts every launch both ways.
func judge(t *testing.T, h *conformance.Harness, launches []conformance.Launch) {
	for _, asEmitted := range []bool{true, false} {
		some := slices.Clone(launches)
		if asEmitted {
			for i := range some {
				some[i].Ranks = some[i].Ranks[:1]
			}
		} else {
			some = slices.DeleteFunc(some, func(l conformance.Launch) bool { return l.Unbuildable })
		}
		if len(some) == 0 {
			continue
		}
		answers, err := h.Judge(some, asEmitted, t.TempDir())
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
		line := summary.Line{Framework: "megatron", Version: some[0].Version, What: map[bool]string{true: "golden cases, as emitted up to the mesh", false: "golden cases, ranks built up to the schedule"}[asEmitted]}
		for _, a := range answers {
			if a.Accepted {
				line.Accepted++
			} else {
				line.Rejected++
				t.Errorf("%s rank %d (as emitted: %t): %s: %s", a.ID, a.Rank, asEmitted, a.Stage, a.Error)
			}
		}
		if err := summary.Add(line); err != nil {
			t.Error(err)
		}
	}
}
