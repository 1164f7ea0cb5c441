package settings

import (
	"slices"

	"github.com/ndc-dev/ndc/intake/draft"
	"github.com/ndc-dev/ndc/intake/tree"
)

// Drop takes back what would be passed on, or is not understood, and what the
// configuration that ndc emits for the draft says too.
func Drop(d *draft.Draft, kind, version string, emitted tree.Object) {
	x := dialectOf(kind, version)
	r := &reading{dialect: x}
	var all []key
	r.flatten("", emitted, &all)
	said := map[string]string{}
	words := map[string]bool{}
	for _, k := range all {
		said[k.path] = shortened(k.written())
		words[x.spell(k)] = true
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if value, ok := said[f.Name]; ok && value == f.Value && (f.Verdict == draft.Passed || f.Verdict == draft.Unknown) {
			f.Verdict, f.Why = draft.Left, "ndc emits it too"
		}
	}
	path := draft.Labelled("backend", kind) + ".extra_args"
	v, _ := d.Get(path)
	passed, _ := v.Value.([]string)
	kept := slices.DeleteFunc(slices.Clone(passed), func(w string) bool { return words[w] })
	if d.Remove(path); len(kept) > 0 {
		d.Set(path, kept, draft.Place{})
	}
}

// dialectOf is what configurations of a framework have of their own; of a
// version that has none, the newest that has.
func dialectOf(kind, version string) *dialect {
	if kind == TorchTitanKind {
		return titanDialect(version, false)
	}
	return deepSpeedDialect(version)
}
