package job

import (
	"fmt"
	"strconv"
	"strings"
)

// What bounds the work that a list takes: its bytes, and the names that it is written
// out to, each as often as it stands there.
const (
	mostText  = 1 << 16
	mostHosts = 1 << 16
)

// Hosts counts the different names of a list of nodes as Slurm reads it, such as
// a1,b[01-03,7]-ib[0-1]; 0 where only a cluster knows: a file of names, a function
// such as switch{s1}, or more names than anybody lists. The error says why the
// text is no such list.
func Hosts(list string) (int, error) {
	if strings.HasPrefix(list, "~") {
		return 0, fmt.Errorf("sbatch knows no ~ in a path")
	}
	if strings.ContainsAny(list, "/{") || len(list) > mostText {
		return 0, nil
	}
	names, many, left := map[string]bool{}, false, mostHosts
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
				return 0, fmt.Errorf("its brackets do not match")
			}
			if depth == 0 && strings.ContainsRune(", \t", r) {
				end = i
				break
			}
		}
		if depth > 0 && end == len(list) {
			return 0, fmt.Errorf("its brackets do not match")
		}
		if end > 0 {
			all, err := spelled(list[:end], left)
			if err != nil {
				return 0, err
			}
			for _, name := range all {
				names[name] = true
			}
			many, left = many || all == nil, left-len(all)
		}
		list = list[min(end+1, len(list)):]
	}
	if many {
		return 0, nil
	}
	return len(names), nil
}

// spelled are the names that one word with ranges stands for; none where they are
// more than most.
func spelled(word string, most int) ([]string, error) {
	before, rest, ranged := strings.Cut(word, "[")
	if i := strings.IndexAny(before, ";|&<>()*?!#"); i >= 0 {
		return nil, fmt.Errorf("no node has %q in its name", before[i:i+1])
	}
	switch {
	case !ranged && most == 0:
		return nil, nil
	case !ranged:
		return []string{word}, nil
	}
	inside, after, _ := strings.Cut(rest, "]")
	ends := []string{""}
	if after != "" {
		var err error
		if ends, err = spelled(after, most); err != nil {
			return nil, err
		}
	}
	var all []string
	for part := range strings.SplitSeq(inside, ",") {
		first, last, _ := strings.Cut(part, "-")
		if last == "" { // Slurm takes 3- for 3
			last = first
		}
		low, err := strconv.ParseUint(first, 10, 63)
		high, err2 := strconv.ParseUint(last, 10, 63)
		if err != nil || err2 != nil || high < low {
			return nil, fmt.Errorf("%q is no number, and no range from a smaller to a larger one", part)
		}
		if high-low >= uint64(most) || (int(high-low)+1)*len(ends) > most-len(all) {
			most = 0
			continue
		}
		for n := low; n <= high; n++ {
			for _, end := range ends {
				all = append(all, fmt.Sprintf("%s%0*d%s", before, len(first), n, end))
			}
		}
	}
	if most == 0 {
		return nil, nil
	}
	return all, nil
}
