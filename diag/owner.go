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
	File  string // that it stands in
	List  List
}

// Attribute has errors that point into another file than their owner's, as into a module that
// many use, say whose they are. What all have is everybody's. Owners are called by what each
// is, such as "job".
func Attribute(called string, all []Owned) {
	owners, of := map[string]bool{}, map[Diagnostic][]string{}
	for _, o := range all {
		owners[o.Owner] = true
		for _, d := range o.List {
			if d.Severity == Error && d.Range.Filename != "" && d.Range.Filename != o.File && !slices.Contains(of[d], o.Owner) {
				of[d] = append(of[d], o.Owner)
			}
		}
	}
	for _, o := range all {
		for i, d := range o.List {
			if whose := of[d]; len(whose) > 0 && len(whose) < len(owners) {
				o.List[i].Detail += " It is so in " + some(called, whose) + "."
			}
		}
	}
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
