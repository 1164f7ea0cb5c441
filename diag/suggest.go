package diag

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Suggest returns the known name that given was most likely meant to be, or ""
// when none is near.
func Suggest(given string, known []string) string {
	if near := Nearest(given, known); len(near) > 0 {
		return near[0]
	}
	return ""
}

// mostNear is how many names are offered at once.
const mostNear = 5

// Nearest returns the known names that given may have been meant to be, the
// likeliest first: the same but for case and the choice of "-", "_" and ".";
// those that given begins, word by word, and its plural, the shortest first; the one that is
// spelt most like it; the one in which two neighbouring letters changed places; the one that has all its words or begins or ends with it, or
// that has each of them shortened.
func Nearest(given string, known []string) []string {
	if len(given) > 100 || given == "" {
		return nil // no name; comparing it would take long
	}
	if i := slices.IndexFunc(known, func(k string) bool { return fold(k) == fold(given) }); i >= 0 {
		return known[i : i+1]
	}
	if begun := begunBy(given, known); len(begun) > 0 && len(begun) <= mostNear {
		return begun
	}
	for _, find := range []func(string, []string) string{spelt, swapped, onlyExtension, onlyWords, onlyShorter} {
		if name := find(given, known); name != "" {
			return []string{name}
		}
	}
	return nil
}

// begunBy lists the names of which given is the first word or words, or the
// singular.
func begunBy(given string, known []string) []string {
	begun := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.HasPrefix(fold(k), fold(given)+"_") && fold(k) != fold(given)+"s" })
	slices.SortStableFunc(begun, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return begun
}

// spelt finds the name that is spelt most like given. What is missing, added or
// swapped counts. Ties go to the one that begins alike for longest, then to the
// first.
func spelt(given string, known []string) string {
	best, distance, prefix := "", 1+len(given)/3, 0
	for _, k := range known {
		d, p := levenshtein.Distance(fold(given), fold(k), nil), commonPrefix(given, k)
		if d < distance || d == distance && p > prefix && best != "" {
			best, distance, prefix = k, d, p
		}
	}
	return best
}

// swapped finds the name in which two neighbouring letters of given changed
// places, which in a short name counts as too many changes for spelt.
func swapped(given string, known []string) string {
	g := fold(given)
	for _, k := range known {
		f := fold(k)
		n := commonPrefix(g, f)
		if len(g) == len(f) && n+1 < len(g) && g[n] == f[n+1] && g[n+1] == f[n] && g[n+2:] == f[n+2:] {
			return k
		}
	}
	return ""
}

// DidYouMean is Nearest as a sentence with a leading space, or ""; so it is for a name
// that is known.
func DidYouMean(given string, known []string) string {
	if near := Nearest(given, known); len(near) > 0 && !slices.Contains(known, given) {
		return " Did you mean " + OneOf(near) + "?"
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

// onlyWords finds the one known name that has every word of given and more.
func onlyWords(given string, known []string) string {
	words, found := strings.Split(fold(given), "_"), ""
	if len(words) < 2 {
		return ""
	}
	for _, k := range known {
		of := strings.Split(fold(k), "_")
		if slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(of, w) }) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
}

// onlyShorter finds the one known name of as many words, each the beginning of
// given's.
func onlyShorter(given string, known []string) string {
	words, found := strings.Split(fold(given), "_"), ""
	for _, k := range known {
		of := strings.Split(fold(k), "_")
		if len(of) != len(words) {
			continue
		}
		shorter := true
		for i, w := range of {
			shorter = shorter && len(w) >= 3 && strings.HasPrefix(words[i], w)
		}
		if shorter && found != "" {
			return ""
		}
		if shorter {
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
