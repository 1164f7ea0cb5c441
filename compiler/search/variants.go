package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/ndc-dev/ndc/compiler/target"
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
