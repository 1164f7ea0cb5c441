package schema

import (
	"regexp"
	"slices"
	"testing"
)

// words lists every word of the language: arguments, blocks, labels, values.
func words(b *Block) []string {
	list := append([]string{b.Name}, b.Labels...)
	for _, a := range b.Arguments {
		list = append(append(list, a.Name), a.Enum...)
	}
	for i := range b.Blocks {
		list = append(list, words(&b.Blocks[i])...)
	}
	return list
}

// TestAliases: every alias leads to a word of the language, and none is needed
// for a word that stands in the same place.
func TestAliases(t *testing.T) {
	known := words(&File)
	for word, names := range aliases {
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%q stands for %q, which is no word of the language", word, name)
			}
			if word == name {
				t.Errorf("%q stands for itself", word)
			}
		}
	}
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"tp", []string{"tensor_parallel", "context_parallel"}, "tensor_parallel"},
		{"TP", []string{"tensor_parallel"}, "tensor_parallel"},
		{"num-hidden-layers", []string{"layers"}, "layers"},
		{"tp", []string{"nodes"}, ""},
		{"nonsense", known, ""},
	} {
		if got := Meant(c.word, c.known); got != c.want {
			t.Errorf("Meant(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}

// TestTables holds the tables to the style of the language.
func TestTables(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	var walk func(b *Block, path string)
	walk = func(b *Block, path string) {
		seen := map[string]bool{}
		for _, n := range slices.Concat(b.ArgumentNames(), b.BlockNames()) {
			if seen[n] || !name.MatchString(n) {
				t.Errorf("%s: %q is there twice or is no name", path, n)
			}
			seen[n] = true
		}
		for _, a := range b.Arguments {
			for _, l := range a.Labels {
				if !slices.Contains(b.Labels, l) {
					t.Errorf("%s.%s belongs to the label %q, which the block does not have", path, a.Name, l)
				}
			}
		}
		if (b.Label == Choice) != (b.Labels != nil) {
			t.Errorf("%s: a choice needs labels", path)
		}
		for i := range b.Blocks {
			walk(&b.Blocks[i], path+"."+b.Blocks[i].Name)
		}
	}
	walk(&File, "")
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		value  float64
		want   bool
	}{
		{Limits{}, 0, true}, {Limits{}, -1, false}, {Limits{}, 1e300, true},
		{positive, 0, false}, {positive, 1e-300, true}, {atLeastOne, 0.5, false}, {fraction, 1, true}, {fraction, 1.1, false}, {upTo(10), 11, false},
	} {
		if got := c.limits.Allows(c.value); got != c.want {
			t.Errorf("%+v allows %g: %v, want %v", c.limits, c.value, got, c.want)
		}
	}
}
