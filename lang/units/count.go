package units

import (
	"fmt"
	"strings"
)

// Count writes a number of things: "1 node", "2 nodes", "3 micro-batches". The
// noun is given in the singular, words before it included.
func Count[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List joins names for a sentence, with a word before the last: "a, b and c" with "and",
// "a or b" with "or".
func List(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
