package diag

import (
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Suggest returns the known name that given was most likely meant to be, or ""
// when none is near. Ties go to the one that begins alike for longest, then to the first. What is missing, added or swapped
// counts; case and the choice of "-", "_" and "." do not.
func Suggest(given string, known []string) string {
	if len(given) > 100 {
		return "" // no name; comparing it would take long
	}
	best, distance, prefix := "", 1+len(given)/3, 0
	for _, k := range known {
		d, p := levenshtein.Distance(fold(given), fold(k), nil), commonPrefix(given, k)
		if d < distance || d == distance && p > prefix && best != "" || d == 0 && best == "" {
			best, distance, prefix = k, d, p
		}
	}
	if best != "" {
		return best
	}
	return onlyExtension(given, known)
}

// DidYouMean is Suggest as a sentence with a leading space, or "".
func DidYouMean(given string, known []string) string {
	if s := Suggest(given, known); s != "" {
		return " Did you mean " + strconv.Quote(s) + "?"
	}
	return ""
}

// commonPrefix counts the bytes with which both begin.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// onlyExtension finds the one known name that starts or ends with given.
func onlyExtension(given string, known []string) string {
	found := ""
	for _, k := range known {
		if len(given) >= 3 && (strings.HasPrefix(fold(k), fold(given)) || strings.HasSuffix(fold(k), fold(given))) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}

var folding = strings.NewReplacer("-", "_", ".", "_", " ", "_")

func fold(s string) string { return folding.Replace(strings.ToLower(s)) }

// OneOf lists names for a message: `"a", "b" or "c"`.
func OneOf(names []string) string {
	var b strings.Builder
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(n))
	}
	return b.String()
}
