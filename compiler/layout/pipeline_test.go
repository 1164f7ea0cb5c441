package layout

import (
	"slices"
	"testing"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// TestVirtualDegrees: with two pipeline ranks 129 layers may be cut into 64 chunks
// of a rank, and 1,000 are not cut finer, nor into more than 256 altogether, unless the
// job says how far to go.
func TestVirtualDegrees(t *testing.T) {
	for _, c := range []struct {
		layers, ranks int
		given         job.IntChoice
		most          int
	}{
		{129, 2, job.IntChoice{}, 64},
		{1000, 2, job.IntChoice{}, 64},
		{1000, 2, job.IntChoice{Ranged: true, Not: []int{3}}, 64},
		{1000, 2, job.IntChoice{Ranged: true, Min: 100}, 100},
		{1000, 2, job.IntChoice{Ranged: true, Max: 80}, 80},
		{1000, 2, job.IntChoice{Values: []int{250}}, 250},
		{126, 16, job.IntChoice{}, 7},
		{256, 16, job.IntChoice{}, 16},
		{1000, 16, job.IntChoice{}, 16},
		{1000, 250, job.IntChoice{}, 2},
		{1000, 16, job.IntChoice{Ranged: true, Max: 40}, 40},
	} {
		j := &job.Job{Model: job.Model{Layers: c.layers}}
		j.Constraints.Layout.VirtualPipeline = c.given
		s := &Space{job: j, target: &target.Target{VirtualPipeline: true}}
		if got := s.virtualDegrees(c.ranks); len(got) == 0 || got[len(got)-1] != c.most {
			t.Errorf("%d layers on %d ranks, %+v: %v, want at most %d", c.layers, c.ranks, c.given, got, c.most)
		}
	}
}

// TestSplits: a stage between the first and the last is not left without layers.
func TestSplits(t *testing.T) {
	for layers := 4; layers < 40; layers++ {
		s := &Space{job: &job.Job{Model: job.Model{Layers: layers}}, target: &target.Target{VirtualPipeline: true, UnevenStages: true}}
		for chunks := 3; chunks <= layers+2; chunks++ {
			for _, split := range slices.Concat(s.splits(chunks, 1), s.splits(1, chunks)) {
				if slices.Contains(split[1:chunks-1], 0) {
					t.Errorf("%d layers in %d chunks: %v", layers, chunks, split)
				}
			}
		}
	}
}

// TestRemainder: 61 layers in 16 chunks are also cut as published launches of
// DeepSeek-V3 are, into 15 of 4 and 1.
func TestRemainder(t *testing.T) {
	j := &job.Job{Model: job.Model{Layers: 61, MTP: job.MTP{Layers: 1}}}
	s := &Space{job: j, target: &target.Target{VirtualPipeline: true, UnevenStages: true}}
	published := append(slices.Repeat([]int{4}, 15), 1)
	if !slices.ContainsFunc(s.splits(4, 4), func(split []int) bool { return slices.Equal(split, published) }) {
		t.Error("not among those of 4 ranks with 4 chunks each")
	}
	for _, c := range []struct {
		layers, chunks int
		want           []int
	}{{61, 16, published}, {64, 16, nil}, {17, 16, nil}, {10, 4, []int{3, 3, 3, 1}}} {
		if got := remainder(c.layers, c.chunks); !slices.Equal(got, c.want) {
			t.Errorf("%d layers in %d chunks: %v, want %v", c.layers, c.chunks, got, c.want)
		}
	}
}
