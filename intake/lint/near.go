package lint

import (
	"strings"

	"github.com/agext/levenshtein"
)

// closest is the known name that a name misspells: at most two letters differ,
// and one in a short name; "" for none, or when several are as near.
func closest(name string, known []string) string {
	most := 2
	if len(strings.TrimLeft(name, "-")) < 8 {
		most = 1
	}
	best, found := most+1, ""
	for _, k := range known {
		if k == name || len(k) < 4 || len(k) > len(name)+most || len(name) > len(k)+most {
			continue
		}
		d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil)
		switch {
		case d < best:
			best, found = d, k
		case d == best:
			found = ""
		}
	}
	return found
}
