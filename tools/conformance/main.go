// Command conformance prints the table of what the conformance suites found,
// and puts it into docs/conformance.md with -out, where rows of earlier runs
// stay unless they were asked again. With -install it installs
// the frameworks first, so that no test has to wait for it.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ndc-dev/ndc/integration/environment"
	"github.com/ndc-dev/ndc/integration/summary"
)

// The tables stand between these lines of the document.
const (
	begin      = "<!-- table: make conformance OUT=docs/conformance.md -->\n"
	end        = "<!-- end of table -->\n"
	beginPairs = "<!-- table: pairs of options -->\n"
	endPairs   = "<!-- end of pairs of options -->\n"
)

func main() {
	results := flag.String("results", os.Getenv(summary.File), "file that the suites wrote")
	out := flag.String("out", "", "document whose table is replaced")
	install := flag.Bool("install", false, "install the frameworks, and report nothing else")
	flag.Parse()
	if *install {
		installAll()
		return
	}
	if err := run(*results, *out); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// installAll reports what cannot be had and goes on: the suites skip it.
func installAll() {
	for _, e := range environment.All() {
		start := time.Now()
		if _, err := e.Python(); err != nil {
			fmt.Println("skipped:", err)
			continue
		}
		fmt.Printf("%s is there after %.0f s\n", e.Name, time.Since(start).Seconds())
	}
}

func run(results, out string) error {
	list, err := summary.Read(results)
	if err != nil {
		return err
	}
	table := summary.Table(list)
	fmt.Print("\n", table, "\n", summary.PairsTable("", list))
	if out == "" {
		return nil
	}
	document, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	text, err := replace(string(document), begin, end, func(old string) string { return summary.Table(summary.Merge(old, list)) })
	if err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	text, err = replace(text, beginPairs, endPairs, func(old string) string { return summary.PairsTable(old, list) })
	if err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// replace makes anew what stands between two lines of a document.
func replace(document, begin, end string, make func(old string) string) (string, error) {
	head, rest, found := strings.Cut(document, begin)
	old, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no place for the table at %q", begin)
	}
	return head + begin + make(old) + end + tail, nil
}
