package diag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Owned are the diagnostics of one of several things that are made of the same files.
type Owned struct {
	Owner string // its name, such as a job's
	At    Range  // where it is written, such as its block
	Parts []List // of what it is made of, each as such; several may share one
	List  List   // of the whole
}

// Attribute has diagnostics of some severities that point into another file than their owner's, as into a module that
// many use, say whose they are; so do those of the whole that point into another owner, which
// is its base. What all have is everybody's. Owners are called by what each is, such as "job".
func Attribute(called string, all []Owned, severities ...Severity) {
	type owned struct {
		Diagnostic
		owner string
	}
	owners, of, noted := map[string]bool{}, map[Diagnostic][]string{}, map[owned]bool{}
	note := func(o *Owned, d Diagnostic) {
		if slices.Contains(severities, d.Severity) && !noted[owned{d, o.Owner}] {
			of[d], noted[owned{d, o.Owner}] = append(of[d], o.Owner), true
		}
	}
	for i := range all {
		o := &all[i]
		owners[o.Owner] = true
		for _, list := range o.lists() {
			for _, d := range list {
				if o.elsewhere(d) {
					note(o, d)
				}
			}
		}
		for _, d := range o.List {
			if o.inherits(d, all) {
				note(o, d)
			}
		}
	}
	for i := range all {
		o := &all[i]
		for _, list := range o.lists() {
			for k, d := range list {
				if whose := of[d]; len(whose) > 0 && len(whose) < len(owners) {
					list[k].Detail += " It is so in " + some(called, whose)
					if !o.elsewhere(d) {
						list[k].Detail += ", where what a base has can be overridden, or left out by without = […]"
					}
					list[k].Detail += "."
				}
			}
		}
	}
}

// lists are the diagnostics of the parts and those of the whole.
func (o *Owned) lists() []List { return append(slices.Clone(o.Parts), o.List) }

// elsewhere reports whether a diagnostic points into another file.
func (o *Owned) elsewhere(d Diagnostic) bool {
	return d.Range.Filename != "" && d.Range.Filename != o.At.Filename
}

// inherits reports whether a diagnostic points into another owner.
func (o *Owned) inherits(d Diagnostic, all []Owned) bool {
	return !o.At.Holds(d.Range) && slices.ContainsFunc(all, func(other Owned) bool { return other.At.Holds(d.Range) })
}

// some names things that are called alike, the first of many.
func some(called string, names []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, strconv.Quote(name))
	}
	switch n := len(names); {
	case n == 1:
		return called + " " + quoted[0]
	case n > most:
		return fmt.Sprintf("%ss %s and %d more", called, strings.Join(quoted, ", "), n-most)
	}
	return fmt.Sprintf("%ss %s and %s", called, strings.Join(quoted[:len(quoted)-1], ", "), quoted[len(quoted)-1])
}
