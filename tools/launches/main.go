// Command launches compares launches that vendors and labs published
// (testdata/launches) with what ndc emits for the same jobs, option by option:
// it writes docs/launches.md, which says for each option that a published launch
// sets and the emitted one does not, or sets to something else, why. It runs no
// framework: integration/examples hands the same jobs to them. It runs at the
// top of the repository:
//
//	go run ./tools/launches
package main

import (
	"fmt"
	"os"
)

const pagePath = "docs/launches.md"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "launches:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	c, err := compareAll(root)
	if err != nil {
		return err
	}
	if missing := c.unexplained(); len(missing) > 0 {
		return fmt.Errorf("no reason in %s for %v", reasonsPath, missing)
	}
	return os.WriteFile(pagePath, c.page(), 0o644)
}
