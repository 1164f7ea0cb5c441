package megatron

import (
	"slices"
	"strconv"
)

// quote puts a user's value in double quotes.
func quote(s string) string { return strconv.Quote(s) }

// numbers writes each of a list of integers.
func numbers(list []int) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = strconv.Itoa(v)
	}
	return out
}

// divides reports whether n splits into parts without a rest.
func divides(parts, n int) bool { return parts > 0 && n%parts == 0 }

func allEqual(list []int) bool {
	return !slices.ContainsFunc(list, func(v int) bool { return v != list[0] })
}
