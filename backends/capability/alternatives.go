package capability

import (
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang/units"
)

// Alternatives says which frameworks and versions have all of the features, as
// a sentence for the end of a message that has named what is missing:
// "Megatron-LM from core_v0.16.0 on and TorchTitan 0.3.0 have it."
func Alternatives(features ...Feature) string {
	if len(features) == 1 {
		return sentence(holders(features), "it")
	}
	if found := holders(features); len(found) > 0 {
		return sentence(found, "all of them")
	}
	return "No backend has all of them. " + Offers(features...)
}

// Offers says who has each feature, by name, for a message that has not said
// what is missing: "Megatron-LM has Muon from core_v0.16.0 on."
func Offers(features ...Feature) string {
	var order []string
	answers := map[string][]holder{}
	names := map[string][]string{}
	for _, f := range features {
		found := holders([]Feature{f})
		key := sentence(found, "")
		if names[key] == nil {
			order, answers[key] = append(order, key), found
		}
		names[key] = append(names[key], f.What())
	}
	for i, key := range order {
		order[i] = sentence(answers[key], units.List(names[key], "and"))
	}
	return strings.Join(order, " ")
}

// holder is a run of versions of a framework that have something.
type holder struct {
	name  string // with the version, where it is one
	span  string // " from … on", " up to …"; "" for all versions and for one
	scope string // "for architecture …"; "" for all jobs
}

// sentence says who has an object.
func sentence(found []holder, object string) string {
	switch len(found) {
	case 0:
		return "No backend has " + object + "."
	case 1:
		h := found[0]
		if h.scope != "" {
			h.scope = " " + h.scope
		}
		return h.name + " has " + object + h.span + h.scope + "."
	}
	names := make([]string, len(found))
	for i, h := range found {
		names[i] = h.name + h.span
		if h.scope != "" {
			names[i] += " (" + h.scope + ")"
		}
	}
	return units.List(names, "and") + " have " + object + "."
}

func holders(features []Feature) []holder {
	var all []holder
	for i := range frameworks {
		all = append(all, frameworks[i].holders(features)...)
	}
	return all
}

// run is a row of versions with one scope.
type run struct {
	first, last int
	scope       string
}

// holders are the versions of a framework that have all features. Versions
// that have them for some jobs alone are left out where others have them for
// all.
func (b *Backend) holders(features []Feature) []holder {
	runs := b.runs(features)
	if slices.ContainsFunc(runs, func(r run) bool { return r.scope == "" }) {
		runs = slices.DeleteFunc(runs, func(r run) bool { return r.scope != "" })
	}
	var all []holder
	for _, r := range runs {
		all = append(all, b.holder(r))
	}
	return all
}

func (b *Backend) runs(features []Feature) []run {
	var runs []run
	for at, version := range b.Versions {
		s, ok := b.common(version, features)
		switch last := len(runs) - 1; {
		case !ok:
		case last >= 0 && runs[last].last == at-1 && runs[last].scope == s:
			runs[last].last = at
		default:
			runs = append(runs, run{at, at, s})
		}
	}
	return runs
}

// common is the scope in which a version has all features. Two scopes that
// differ are taken to exclude one another.
func (b *Backend) common(version string, features []Feature) (string, bool) {
	common := ""
	for _, f := range features {
		s, ok := scope(b, version, rowOf(f))
		if !ok || s != "" && common != "" && s != common {
			return "", false
		}
		if s != "" {
			common = s
		}
	}
	return common, true
}

func (b *Backend) holder(r run) holder {
	h := holder{name: b.Name, scope: r.scope}
	first, last := b.Versions[r.first], b.Versions[r.last]
	switch oldest, newest := r.first == 0, r.last == len(b.Versions)-1; {
	case oldest && newest:
	case first == last:
		h.name += " " + first
	case newest:
		h.span = " from " + first + " on"
	case oldest:
		h.span = " up to " + last
	default:
		h.span = " from " + first + " to " + last
	}
	return h
}

// With says which versions of a framework have a feature, as "all" or "from
// core_v0.16.0 on", and for which jobs; "" where none has it.
func (b *Backend) With(f Feature) string {
	var all []string
	for _, r := range b.runs([]Feature{f}) {
		h := b.holder(r)
		words := strings.TrimSpace(strings.TrimPrefix(h.name, b.Name) + h.span)
		switch {
		case words == "" && h.scope == "":
			words = "all"
		case words != "" && h.scope != "":
			words += ", " + h.scope
		default:
			words += h.scope
		}
		all = append(all, words)
	}
	return strings.Join(all, "; ")
}

// Layout answers for arguments of constraints.layout: what the backend itself
// says of its limits, and who has the values that are asked for. The limits are
// sentences by argument.
func Layout(limits map[string]string) func(argument string, values []string) string {
	return func(argument string, values []string) string {
		return strings.TrimSpace(limits[argument] + " " + Offers(ofLayout(argument, values)...))
	}
}

// ofLayout lists the features that values of a layout's argument ask for; none
// where the table says nothing of them.
func ofLayout(argument string, values []string) []Feature {
	path := "constraints.layout." + argument
	features := []Feature{Feature(path)}
	if len(values) > 0 {
		features = nil
	}
	for _, v := range values {
		features = append(features, Of(path, v))
	}
	return slices.DeleteFunc(slices.Compact(features), func(f Feature) bool { return byFeature[f] == nil })
}
