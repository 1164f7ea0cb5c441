package backends

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ndc-dev/ndc/diag"
)

var numbers = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)*`)

// MeantVersion says, as a sentence with a leading space, which of the known
// versions, listed from the oldest on, are nearest to one that is not known:
// those whose numbers begin so, else those on either side of it. "" when the
// given text has no number.
func MeantVersion(given string, known []string) string {
	wanted := parts(given)
	if len(wanted) == 0 {
		return ""
	}
	begun := func(k string) bool { p := parts(k); return slices.Equal(p[:min(len(p), len(wanted))], wanted) }
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !begun(k) })
	if len(near) == 0 {
		i, _ := slices.BinarySearchFunc(known, wanted, func(k string, w []int) int { return slices.Compare(parts(k), w) })
		near = known[max(0, i-1):min(len(known), i+1)]
	}
	return " Did you mean " + diag.OneOf(near) + "?"
}

// parts are the numbers of a version.
func parts(version string) (list []int) {
	for _, s := range strings.Split(numbers.FindString(version), ".") {
		if n, err := strconv.Atoi(s); err == nil {
			list = append(list, n)
		}
	}
	return list
}
