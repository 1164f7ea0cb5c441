package layout

import (
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestVirtualDegrees: with two pipeline ranks 129 layers may be cut into 64 chunks
// of a rank, and 1,000 are not cut finer unless the job says how far to go.
func TestVirtualDegrees(t *testing.T) {
	for _, c := range []struct {
		layers int
		given  job.IntChoice
		most   int
	}{
		{129, job.IntChoice{}, 64},
		{1000, job.IntChoice{}, 64},
		{1000, job.IntChoice{Ranged: true, Not: []int{3}}, 64},
		{1000, job.IntChoice{Ranged: true, Min: 100}, 100},
		{1000, job.IntChoice{Ranged: true, Max: 80}, 80},
		{1000, job.IntChoice{Values: []int{250}}, 250},
	} {
		j := &job.Job{Model: job.Model{Layers: c.layers}}
		j.Constraints.Layout.VirtualPipeline = c.given
		s := &Space{job: j, target: &target.Target{VirtualPipeline: true}}
		if got := s.virtualDegrees(2); len(got) == 0 || got[len(got)-1] != c.most {
			t.Errorf("%d layers, %+v: %v, want at most %d", c.layers, c.given, got, c.most)
		}
	}
}
