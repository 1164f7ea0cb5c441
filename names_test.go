package ndc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// frameworks are the names of what backends emit for, of what lies below it and
// of releases.
var frameworks = regexp.MustCompile(`(?i)megatron|torch|titan|deepspeed|fsdp2|transformer.?engine|\bapex\b|core_v\d`)

// measured are tests under compiler/ that hold predictions to figures that were
// published or recorded of one framework, and say of which.
var measured = []string{
	"compiler/memory/accuracy_test.go",
	"compiler/memory/feasible_test.go",
	"compiler/memory/megatron_test.go",
	"compiler/memory/torchtitan_test.go",
	"compiler/program/gemm_test.go",
	"compiler/program/parameters_test.go",
	"compiler/schedule/order_test.go",
}

// TestCompilerNamesNoFramework: what a framework does is a value that its backend
// fills in (package runtime), and where the value is from stands there, in data
// and in docs. So no file under compiler/ names one, not even in a comment.
func TestCompilerNamesNoFramework(t *testing.T) {
	var named []string
	err := filepath.WalkDir("compiler", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		b, err := os.ReadFile(name)
		// a cluster's argument torch_memory is the language's
		text := name + "\n" + strings.ReplaceAll(string(b), "TorchMemory", "")
		for number, line := range strings.Split(text, "\n") {
			if !frameworks.MatchString(line) {
				continue
			}
			named = append(named, name)
			if !slices.Contains(measured, name) {
				t.Errorf("%s:%d names a framework: %s", name, number, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range measured {
		if !slices.Contains(named, name) {
			t.Errorf("%s names no framework any more: take it off the list", name)
		}
	}
}

// byName compares a release with one that is named.
var byName = regexp.MustCompile(`(?i)\b(name|version|release)\b\)? *[!=]= *"(core_)?v?\d`)

// TestNoReleaseIsToldByItsName: what a release does differently is a value of it, which
// says what; so no backend asks what it is called.
func TestNoReleaseIsToldByItsName(t *testing.T) {
	err := filepath.WalkDir("backends", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		for number, line := range strings.Split(string(b), "\n") {
			if byName.MatchString(line) {
				t.Errorf("%s:%d: %s", filepath.ToSlash(name), number+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
