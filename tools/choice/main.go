// Command choice holds what ndc chooses against what others run: for every published
// launch of testdata/launches and every example it plans the job with its layout
// pinned and with nothing pinned, and writes docs/choice.md. It takes minutes of
// processor time; -only names those to plan anew, and the others stay as recorded in
// tools/choice/recorded.jsonl.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
)

func main() {
	only := flag.String("only", "", "plan those whose name matches, and keep the others as they are recorded")
	root := flag.String("root", ".", "the repository")
	flag.Parse()
	if err := update(*root, *only); err != nil {
		fmt.Fprintln(os.Stderr, "choice:", err)
		os.Exit(1)
	}
}

// update plans what matches a pattern, records it and writes the page.
func update(root, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	recorded, err := readRecorded(root)
	if err != nil {
		return err
	}
	questions, err := questionsOf(root)
	if err != nil {
		return err
	}
	var all []answer
	for _, q := range questions {
		i := slices.IndexFunc(recorded, func(a answer) bool { return a.Name == q.name })
		if !pattern.MatchString(q.name) {
			if i >= 0 {
				all = append(all, recorded[i])
			}
			continue
		}
		a, err := q.ask()
		if err != nil {
			return err
		}
		all = append(all, a)
		fmt.Fprintln(os.Stderr, q.name)
	}
	return write(root, all)
}
