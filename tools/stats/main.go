// Command stats prints what decides how far a change reaches: the lines of
// every package, the widest structs, exported names without a doc comment,
// large files, and the files that each kind of change touches, as
// docs/extending.md lists them. It reports; a test at the root holds the limits.
package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"slices"
)

func main() {
	source, err := read(".")
	if err != nil {
		log.Fatal(err)
	}
	source.packages()
	source.structs()
	source.files()
	source.undocumented()
	if err := changes("docs/extending.md"); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
}

// packages prints lines of code and of tests.
func (s *source) packages() {
	var code, tests int
	fmt.Printf("%-28s %7s %7s %7s\n", "package", "files", "lines", "tests")
	for _, name := range s.names() {
		p := s.of[name]
		fmt.Printf("%-28s %7d %7d %7d\n", name, p.files, p.lines, p.tests)
		code, tests = code+p.lines, tests+p.tests
	}
	fmt.Printf("%-28s %7s %7d %7d\n", "all", "", code, tests)
}

// structs prints the widest ones; under compiler/, where fifty fields were
// locals of a function once, none may have more than 24.
func (s *source) structs() {
	slices.SortFunc(s.widths, func(a, b width) int { return cmp.Or(b.fields-a.fields, cmp.Compare(a.name, b.name)) })
	fmt.Println("\nwidest structs, in fields")
	for _, w := range s.widths[:min(12, len(s.widths))] {
		fmt.Printf("%4d %s\n", w.fields, w.name)
	}
}

func (s *source) files() {
	slices.Sort(s.large)
	fmt.Printf("\n%d files of more than %d lines\n", len(s.large), longFile)
	for _, f := range s.large {
		fmt.Println("    ", f)
	}
}

func (s *source) undocumented() {
	slices.Sort(s.bare)
	fmt.Printf("\n%d exported names without a doc comment\n", len(s.bare))
	for _, n := range s.bare {
		fmt.Println("    ", n)
	}
}
