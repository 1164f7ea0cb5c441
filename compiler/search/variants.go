package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/ndc-dev/ndc/compiler/target"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// variants lists the sets of the target's variants that may be tried where
// memory is short: every combination of those whose options the user left
// free, single ones first, in the order of the target.
func variants(j *job.Job, t *target.Target) [][]target.Variant {
	free := slices.DeleteFunc(slices.Clone(t.Variants), func(v target.Variant) bool {
		return slices.ContainsFunc(v.Options, func(name string) bool { return j.Sources.IsSet("execution." + name) })
	})
	var sets [][]target.Variant
	for mask := 1; mask < 1<<len(free); mask++ {
		var set []target.Variant
		for rest := uint(mask); rest != 0; rest &= rest - 1 {
			set = append(set, free[bits.TrailingZeros(rest)])
		}
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b []target.Variant) int { return cmp.Compare(len(a), len(b)) })
	return sets
}

// tryVariants evaluates the current layout, for which memory is short, with the
// first set of variants that suffices. Whether any can is asked first, of all
// that apply at once: none of them needs more memory.
func (w *worker) tryVariants() verdict {
	w.stateTooLarge = w.current.Result.StateBytes > w.limits.usable && !w.options.listed
	if len(w.variants) == 0 {
		return outOfMemory
	}
	w.resolve(w.options.picks)
	if w.apply(w.variants[len(w.variants)-1]) == 0 {
		return outOfMemory
	}
	w.memory(&w.current.Result)
	w.stateTooLarge = w.stateTooLarge && w.current.Result.StateBytes > w.limits.usable
	if broken, _ := w.limits.checkMemory(&w.current.Result); broken == IDMemory {
		return outOfMemory // a node may yet have room for what fewer of them move
	}
	for _, set := range w.variants {
		w.resolve(w.options.picks)
		if w.apply(set) < len(set) || w.breaksRule() {
			continue
		}
		if v := w.evaluate(); v != outOfMemory {
			w.needsVariant, w.options.set = true, set
			return v
		}
	}
	return outOfMemory
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

// idle reports whether another mesh stands for this one, as long as nothing
// goes to the host.
func (w *worker) idle() bool {
	return w.space.Meshes[w.mesh.index].Idle && !w.job.Execution.OffloadOptimizer.Value && !w.job.Execution.OffloadParameters.Value
}
