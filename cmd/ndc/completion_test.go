package main

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// paths are the flags that take a file or a folder, which shells complete by
// themselves.
var paths = []string{"junit", "output", "plan", "var-file"}

// TestCompletion: of every flag with a value it is said what a shell offers, and
// nothing is said of a flag that there is not.
func TestCompletion(t *testing.T) {
	told := slices.Concat(open, paths)
	for name := range fixed {
		told = append(told, name)
	}
	found := map[string]bool{}
	for _, c := range newRoot(io.Discard, io.Discard).Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			found[f.Name], found[c.Name()+" "+f.Name] = true, true
			_, is := c.GetFlagCompletionFunc(f.Name)
			if f.Value.Type() != "bool" && is == slices.Contains(paths, f.Name) {
				t.Errorf("ndc %s --%s: words are told: %t", c.Name(), f.Name, is)
			}
		})
	}
	for _, name := range told {
		if !found[name] {
			t.Errorf("there is no flag %s", name)
		}
	}
}
