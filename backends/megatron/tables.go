package megatron

import (
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// Tables are the options of a release and the classes of all options, for
// package intake, which reads launches by what this package writes them by. A
// release that is not among Versions has none.
func Tables(release string) (*schema.Table, *schema.Classes) {
	v, ok := find(release)
	if !ok {
		return nil, nil
	}
	return v.options, extra.Classes
}

// ReducesExperts reports whether a release adds up gradients of experts over the ranks
// that share them in every layout, not where expert_parallel is above 1 alone.
func ReducesExperts(release string) bool {
	v, ok := find(release)
	return !ok || v.reducesExperts()
}

// Refuses reports whether a release stops at a value that its table offers for an
// option, as its classes say.
func Refuses(release, option, value string) bool {
	class, _ := extra.Of(schema.Option{Names: []string{option}})
	v, ok := find(release)
	first, refused := find(class.Refused[value])
	return ok && refused && v.atLeast(first.minor, first.patch)
}

// RecomputeModules are the modules that words of --recompute-modules name, in
// the language's names; false for a word that ndc does not know.
func RecomputeModules(words []string) ([]string, bool) {
	var set plan.Modules
	for _, word := range words {
		found := false
		for _, w := range recomputeWords {
			if w.word == word {
				set, found = set|w.module, true
			}
		}
		if !found {
			return nil, false
		}
	}
	return set.Names(), true
}
