package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// variantSet is some of the target's variants, and which ones as bits.
type variantSet struct {
	members []target.Variant
	bits    uint
}

// variants lists the sets of the target's variants that may be tried where
// memory is short: every combination of those whose options the user left
// free, single ones first, in the order of the target.
func variants(j *job.Job, t *target.Target) []variantSet {
	free := slices.DeleteFunc(slices.Clone(t.Variants), func(v target.Variant) bool {
		return slices.ContainsFunc(v.Options, func(name string) bool { return j.Sources.IsSet("execution." + name) })
	})
	var sets []variantSet
	for mask := uint(1); mask < 1<<len(free); mask++ {
		set := variantSet{bits: mask}
		for rest := mask; rest != 0; rest &= rest - 1 {
			set.members = append(set.members, free[bits.TrailingZeros(rest)])
		}
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b variantSet) int { return cmp.Compare(len(a.members), len(b.members)) })
	return sets
}

// fit evaluates the current layout with the options picked, and while memory is short
// with the target's variants. It keeps what the layout is without them.
func (w *worker) fit(base *Candidate) verdict {
	w.options.set = nil
	v := overLimit
	if !w.exposes() || !w.variantsExpose() {
		v = w.predict()
	}
	*base = w.current
	if v == outOfMemory {
		if v = w.tryVariants(); v == outOfMemory {
			w.current = *base
		}
	}
	return v
}

// tryVariants evaluates the current layout, for which memory is short, with the
// best set of variants of which no part suffices. Each is asked: a variant may need more
// memory than it saves, as a loss in chunks of few tokens does, where the gradient of the
// head outweighs the logits.
func (w *worker) tryVariants() verdict {
	w.stateTooLarge = w.current.Result.StateBytes > w.limits.usable && !w.options.listed
	v, best := outOfMemory, w.current
	w.enough = w.enough[:0]
	if len(w.variants) > 0 {
		w.resolve(w.options.picks)
	}
	without := w.execution
	for i := range w.variants {
		set := &w.variants[i]
		if slices.ContainsFunc(w.enough, func(part uint) bool { return set.bits&part == part }) {
			continue
		}
		w.execution = without
		if !w.with(set) {
			continue
		}
		if w.breaksRule() { // another layout of the pipeline may not
			w.stateTooLarge = false
			continue
		}
		next := w.evaluate()
		w.stateTooLarge = w.stateTooLarge && w.current.Result.StateBytes > w.limits.usable
		switch next {
		case outOfMemory:
			continue
		case overLimit:
			w.miss(&w.current)
		}
		suffices := w.current.Result.NeededBytes > 0
		if !suffices { // a floor told that it exposes too much
			_, suffices = w.fitsMemory()
		}
		if suffices {
			w.enough = append(w.enough, set.bits)
		}
		if next > v || next == v && w.improves(&best) {
			best, v, w.options.set = w.current, next, set
		}
	}
	w.current, w.execution = best, best.Execution
	return v
}

// apply changes the execution options by those of the variants that apply, and
// counts them.
func (w *worker) apply(variants []target.Variant) (applied int) {
	for i := range variants {
		if v := &variants[i]; v.Applies == nil || v.Applies(&w.facts) {
			v.Apply(&w.execution)
			applied++
		}
	}
	return applied
}

// with changes the execution options by a set of variants, nil for none, and
// reports whether all of them apply.
func (w *worker) with(set *variantSet) bool {
	return set == nil || w.apply(set.members) == len(set.members)
}

func (w *worker) breaksRule() bool {
	for i := range w.target.Rules {
		if w.target.Rules[i].Breaks(&w.facts) {
			return true
		}
	}
	return false
}

// brokenRule names the rule beyond those of the mesh that the current layout
// breaks, "" if it is legal.
func (w *worker) brokenRule() diag.ID {
	for i := range w.target.Rules {
		if rule := &w.target.Rules[i]; !rule.Mesh && rule.Breaks(&w.facts) {
			return rule.ID
		}
	}
	return ""
}

// idle reports whether a layout of another mesh stands for the current one with some
// options: one of a lesser stage, where the framework can run them and shares as little.
func (w *worker) idle(x *plan.Execution) bool {
	lesser := w.space.Meshes[w.mesh.index].LesserStages
	if len(lesser) == 0 || x.OffloadOptimizer || x.OffloadParameters {
		return false
	}
	stage, execution, stands := w.layout.ZeroStage, w.execution, false
	w.execution = *x
	w.execution.OverlapGradientReduce, w.execution.OverlapParameterGather = false, false // of nothing
	for _, w.layout.ZeroStage = range lesser {
		stands = stands || !w.breaksRule()
	}
	w.layout.ZeroStage, w.execution = stage, execution
	return stands
}
