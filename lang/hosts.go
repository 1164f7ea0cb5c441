package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// mostHosts bounds the names that a list is written out to.
const mostHosts = 1 << 16

// hosts counts the different names of a list of nodes as Slurm reads it, such as
// a1,b[01-03,7]-ib[0-1]; false where it is a file of names, or none of such lists.
func hosts(list string) (int, bool) {
	if strings.Contains(list, "/") {
		return 0, false
	}
	names := map[string]bool{}
	for len(list) > 0 {
		end, depth := len(list), 0
		for i, r := range list {
			switch {
			case r == '[':
				depth++
			case r == ']':
				depth--
			}
			if depth < 0 || depth > 1 {
				return 0, false
			}
			if r == ',' && depth == 0 {
				end = i
				break
			}
		}
		all, ok := spelled(list[:end], mostHosts-len(names))
		if !ok || depth > 0 && end == len(list) {
			return 0, false
		}
		for _, name := range all {
			names[name] = true
		}
		list = strings.TrimPrefix(list[end:], ",")
	}
	return len(names), len(names) > 0
}

// spelled are the names that one word with ranges stands for, at most so many.
func spelled(word string, most int) ([]string, bool) {
	before, rest, ranged := strings.Cut(word, "[")
	if !ranged {
		return []string{word}, word != "" && most > 0
	}
	inside, after, closed := strings.Cut(rest, "]")
	ends, ok := []string{""}, true
	if after != "" {
		ends, ok = spelled(after, most)
	}
	if !closed || !ok {
		return nil, false
	}
	var all []string
	for part := range strings.SplitSeq(inside, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || low < 0 || high < low || (high-low+1) > most/len(ends)-len(all)/len(ends) {
			return nil, false
		}
		for n := low; n <= high; n++ {
			for _, end := range ends {
				all = append(all, fmt.Sprintf("%s%0*d%s", before, len(first), n, end))
			}
		}
	}
	return all, true
}
