package layout

import (
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/lang/job"
)

// newPipelines lists schedules, virtual stages and splits for pp ranks.
func (s *Space) newPipelines(pp int) []Pipeline {
	var all []Pipeline
	for _, v := range s.virtualDegrees(pp) {
		for _, schedule := range s.schedules(pp, v) {
			for _, split := range s.splits(pp * v) {
				p := Pipeline{VirtualPipeline: v, Schedule: schedule, StageLayers: split}
				p.Recomputes = s.recomputes(split)
				all = append(all, p)
			}
		}
	}
	return all
}

func (s *Space) virtualDegrees(pp int) []int {
	c := s.job.Constraints.Layout.VirtualPipeline
	most := 1
	if pp > 1 && s.target.VirtualPipeline {
		most = max(1, s.job.Model.Layers/pp)
	}
	if n := len(s.job.Constraints.Layout.StageLayers); n > 0 {
		if n%pp != 0 {
			return nil
		}
		return slices.DeleteFunc([]int{n / pp}, func(v int) bool { return !c.Allows(v) })
	}
	var degrees []int
	for v := 1; v <= most; v++ {
		if c.Allows(v) {
			degrees = append(degrees, v)
		}
	}
	return degrees
}

// schedules lists those that fit the number of chunks per rank.
func (s *Space) schedules(pp, v int) []plan.Schedule {
	c := s.job.Constraints.Layout.PipelineSchedule
	if pp == 1 {
		// A single pipeline rank has no schedule, whatever the user prefers for more.
		if v == 1 {
			return []plan.Schedule{plan.ScheduleNone}
		}
		return nil
	}
	var fitting []plan.Schedule
	for _, x := range s.target.Schedules {
		if interleaves(x) == (v > 1) && c.Allows(x.String()) {
			fitting = append(fitting, x)
		}
	}
	return fitting
}

// interleaves reports whether a schedule runs several chunks per rank.
func interleaves(x plan.Schedule) bool {
	return x == plan.ScheduleInterleaved1F1B || x == plan.ScheduleZBV || x == plan.ScheduleDualPipeV
}

// splits lists the layer counts per chunk that are tried: the user's own; the
// even one; and, where stages may differ, every split whose inner chunks are
// equal or differ by one and whose first and last chunk are smaller or larger
// by up to edgeSlack layers, because the embedding and the head share those
// ranks.
func (s *Space) splits(chunks int) [][]int {
	layers := s.job.Model.Layers
	if pinned := s.job.Constraints.Layout.StageLayers; len(pinned) > 0 {
		if len(pinned) != chunks {
			return nil
		}
		return [][]int{pinned}
	}
	var all [][]int
	if layers%chunks == 0 {
		all = append(all, slices.Repeat([]int{layers / chunks}, chunks))
	}
	if !s.target.UnevenStages || chunks == 1 {
		return all
	}
	sizes := edges(layers, chunks)
	for _, first := range sizes {
		for _, last := range sizes {
			split := uneven(layers, chunks, first, last)
			if split != nil && !slices.ContainsFunc(all, func(x []int) bool { return slices.Equal(x, split) }) {
				all = append(all, split)
			}
		}
	}
	return all
}

// edgeSlack is how far the first and last chunk may fall short of, or exceed,
// the inner ones. The head of a large-vocabulary model costs the time of a few
// layers; more than three is never worth it at these depths.
const edgeSlack = 3

// edges lists the sizes that a first or last chunk may have.
func edges(layers, chunks int) []int {
	mean := layers / chunks
	var sizes []int
	for n := max(0, mean-edgeSlack); n <= mean+1; n++ {
		sizes = append(sizes, n)
	}
	return sizes
}

// uneven gives the inner chunks what first and last leave, the larger ones
// first in the middle; nil if that is impossible or far from balanced.
func uneven(layers, chunks, first, last int) []int {
	inner := chunks - 2
	rest := layers - first - last
	if rest < 0 || inner == 0 && rest != 0 {
		return nil
	}
	split := make([]int, chunks)
	split[0], split[chunks-1] = first, last
	if inner == 0 {
		return split
	}
	low, extra := rest/inner, rest%inner
	if low == 0 || low > layers/chunks+1 {
		return nil
	}
	for i := range inner {
		split[1+i] = low
		if i < extra {
			split[1+i]++
		}
	}
	return split
}

// recomputes expands the target's options for the chunks of a split.
func (s *Space) recomputes(split []int) []Recompute {
	c := &s.job.Constraints.Layout
	var all []Recompute
	for _, o := range s.target.Recomputes {
		if !c.Recompute.Allows(o.Mode.String()) || !allowsMethod(c, o) || !allowsModules(c, o) {
			continue
		}
		for _, n := range recomputeLayers(o, slices.Max(split)) {
			if o.Mode != plan.RecomputeFull || c.RecomputeLayers.Allows(n) {
				all = append(all, Recompute{o.Mode, o.Modules, o.Method, n})
			}
		}
	}
	return append(all, pinnedModules(c, s.target)...)
}

func allowsMethod(c *job.LayoutConstraints, o target.RecomputeOption) bool {
	return o.Mode != plan.RecomputeFull || c.RecomputeMethod.Allows(o.Method)
}

func allowsModules(c *job.LayoutConstraints, o target.RecomputeOption) bool {
	return c.RecomputeModules == nil || o.Mode != plan.RecomputeSelective || slices.Equal(o.Modules, c.RecomputeModules)
}

// pinnedModules adds the user's own module list when the target recommends
// no such list; the target's rules say whether it is legal.
func pinnedModules(c *job.LayoutConstraints, t *target.Target) []Recompute {
	if c.RecomputeModules == nil || !c.Recompute.Allows(plan.RecomputeSelective.String()) {
		return nil
	}
	for _, o := range t.Recomputes {
		if o.Mode == plan.RecomputeSelective && slices.Equal(o.Modules, c.RecomputeModules) {
			return nil
		}
	}
	return []Recompute{{Mode: plan.RecomputeSelective, Modules: c.RecomputeModules}}
}

// recomputeLayers lists the layer counts of a full recompute: what the target
// names, or for block every count up to the largest chunk, which is then the
// same as uniform over single layers, and for uniform groups of one.
func recomputeLayers(o target.RecomputeOption, largest int) []int {
	switch {
	case o.Mode != plan.RecomputeFull:
		return []int{0}
	case o.Layers != nil:
		return o.Layers
	case o.Method == "block":
		n := make([]int, 0, largest)
		for i := 1; i < largest; i++ {
			n = append(n, i)
		}
		return n
	}
	return []int{1}
}
