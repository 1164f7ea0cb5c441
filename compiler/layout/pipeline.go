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
			for _, split := range s.splits(pp, v) {
				p := Pipeline{VirtualPipeline: v, Schedule: schedule, StageLayers: split}
				p.Recomputes = s.recomputes(split)
				all = append(all, p)
			}
		}
	}
	return all
}

// mostVirtual is the largest number of chunks of a rank that is tried unless the
// job names them or their end: every number up to 129 layers. Published runs have at most
// twelve; without it a model of thousands of layers takes hours. mostChunks is that of
// all ranks together, of which every rank may have two, as some schedules want: it
// binds no model of fewer layers.
const (
	mostVirtual = 64
	mostChunks  = 256
)

func (s *Space) virtualDegrees(pp int) []int {
	c := s.job.Constraints.Layout.VirtualPipeline
	most := 1
	if pp > 1 && s.target.VirtualPipeline {
		most = max(1, s.job.Model.Layers/pp)
	}
	if c.Values == nil && c.Max == 0 {
		most = min(most, max(min(mostVirtual, mostChunks/pp), 2, c.Min))
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
		if Runs(x, v) && c.Allows(x.String()) {
			fitting = append(fitting, x)
		}
	}
	return fitting
}

// Runs reports whether a schedule runs v chunks per rank.
func Runs(x plan.Schedule, v int) bool {
	switch x {
	case plan.ScheduleInterleaved1F1B:
		return v > 1
	case plan.ScheduleZBV, plan.ScheduleDualPipeV: // the two ways of a V
		return v == 2
	}
	return v == 1
}

// splits lists the layer counts per chunk that are tried: the user's own; else
// the even one and, where stages may differ, balanced ones whose first and last
// chunk hold fewer layers than the inner ones, because the embedding and the
// head share their ranks, or whose last holds the remainder beside layers of
// multi-token prediction. Other splits have a busier rank without relief for another
// and are never better.
func (s *Space) splits(pp, v int) [][]int {
	layers, chunks, slack := s.job.Model.Layers, pp*v, edgeSlack
	if v > 1 {
		slack = 1 // a rank has v chunks to balance with
	}
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
	if !s.target.UnevenStages || chunks == 1 || chunks > layers+2 {
		return all
	}
	add := func(split []int) {
		if split != nil && !slices.ContainsFunc(all, func(x []int) bool { return slices.Equal(x, split) }) {
			all = append(all, split)
		}
	}
	for first := range slack + 1 {
		for last := range slack + 1 {
			add(uneven(layers, chunks, first, last))
		}
	}
	if v > 1 && s.job.Model.MTP.Layers > 0 {
		add(remainder(layers, chunks))
	}
	return all
}

// remainder gives every chunk as many layers and the last, beside the head and layers of
// multi-token prediction, what is left, as published launches of DeepSeek-V3 do (61 layers
// in 16 chunks: 15 of 4 and 1); nil if there is no such split, or it is even.
func remainder(layers, chunks int) []int {
	each := (layers + chunks - 1) / chunks
	left := layers - each*(chunks-1)
	if left < 0 || left == each {
		return nil
	}
	split := slices.Repeat([]int{each}, chunks)
	split[chunks-1] = left
	return split
}

// edgeSlack is by how many layers the first and the last chunk may fall short
// of the inner ones. The head of a model with a large vocabulary takes the
// time of a few layers.
const edgeSlack = 3

// uneven gives the first and last chunk fewer layers than the inner ones hold
// on average, by about short and lack, and spreads the rest over the inner
// chunks, larger ones first; nil if there is no such split.
func uneven(layers, chunks, short, lack int) []int {
	inner := chunks - 2
	mean := (layers + short + lack + chunks - 1) / chunks // inner size, rounded up
	first, last := mean-short, mean-lack
	rest := layers - first - last
	if first < 0 || last < 0 || rest < inner || inner == 0 && rest != 0 || inner > 0 && rest > inner*mean {
		return nil
	}
	split := make([]int, chunks)
	split[0], split[chunks-1] = first, last
	for i := range inner {
		split[1+i] = rest / inner
		if i < rest%inner {
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
		all = append(all, layerChoices(o, c.RecomputeLayers, slices.Max(split))...)
	}
	return append(all, pinnedModules(c, s.target)...)
}

func allowsMethod(c *job.LayoutConstraints, o target.RecomputeOption) bool {
	return o.Mode != plan.RecomputeFull || c.RecomputeMethod.Allows(o.Method)
}

func allowsModules(c *job.LayoutConstraints, o target.RecomputeOption) bool {
	return c.RecomputeModules == nil || o.Mode != plan.RecomputeSelective || o.Modules == plan.ModulesOf(c.RecomputeModules)
}

// pinnedModules adds the user's own module list when the target recommends
// no such list; the target's rules say whether it is legal.
func pinnedModules(c *job.LayoutConstraints, t *target.Target) []Recompute {
	if c.RecomputeModules == nil || !c.Recompute.Allows(plan.RecomputeSelective.String()) {
		return nil
	}
	pinned := plan.ModulesOf(c.RecomputeModules)
	for _, o := range t.Recomputes {
		if o.Mode == plan.RecomputeSelective && o.Modules == pinned {
			return nil
		}
	}
	return []Recompute{{Mode: plan.RecomputeSelective, Modules: pinned}}
}

// layerChoices expands the layer counts of an option: what the target names;
// for block every count short of the largest chunk, which would be the same
// as uniform over single layers; for uniform groups of one.
func layerChoices(o target.RecomputeOption, allowed job.IntChoice, largest int) []Recompute {
	if o.Mode != plan.RecomputeFull {
		return []Recompute{{Mode: o.Mode, Modules: o.Modules, Method: o.Method}}
	}
	if o.Method == "block" && o.Layers == nil && allowed.Free() {
		if largest < 2 {
			return nil
		}
		return []Recompute{{Mode: o.Mode, Method: o.Method, Layers: 1, Most: largest - 1}}
	}
	counts := o.Layers
	if counts == nil {
		counts = []int{1}
		if o.Method == "block" {
			counts = counts[:0]
			for n := 1; n <= largest; n++ {
				counts = append(counts, n)
			}
		}
	}
	var all []Recompute
	for _, n := range counts {
		if allowed.Allows(n) {
			all = append(all, Recompute{Mode: o.Mode, Modules: o.Modules, Method: o.Method, Layers: n})
		}
	}
	return all
}
