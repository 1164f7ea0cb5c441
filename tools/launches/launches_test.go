package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/tools/golden"
)

// TestPage: docs/launches.md is what the jobs, the launches and the emitters give
// now, every difference has a reason, and no reason is left over.
func TestPage(t *testing.T) {
	c, err := compareAll("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range c.unexplained() {
		t.Errorf("no reason in %s for %s", reasonsPath, missing)
	}
	if len(c.launches) < 20 {
		t.Errorf("only %d launches", len(c.launches))
	}
	golden.Compare(t, filepath.Join("..", "..", pagePath), c.page())
}

// TestJobs: every file of testdata/launches belongs to a launch.
func TestJobs(t *testing.T) {
	launches, err := readLines[launch](filepath.Join("..", "..", launchesPath))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, l := range launches {
		if names[l.Name] {
			t.Errorf("two launches %s", l.Name)
		}
		names[l.Name] = true
		if l.Source.Repository == "" || l.Source.Path == "" || len(l.Source.Commit) != 40 || l.Published.Where == "" {
			t.Errorf("%s does not say where it is from", l.Name)
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.hcl"))
	if err != nil || len(files) != len(launches) {
		t.Errorf("%d files for %d launches (%v)", len(files), len(launches), err)
	}
	for _, path := range files {
		if name := strings.TrimSuffix(filepath.Base(path), ".hcl"); !names[name] {
			t.Errorf("no launch %s", name)
		}
	}
}

// TestEqual: values of two launches are equal that the framework reads alike.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1e-6", "0.000001", true},
		{"…", "/data/x", true},
		{"([0]*3+[1]*58)", "[0]*3+[1]*58", true},
		{"mlp moe", "moe mlp", true},
		{"True", "true", true},
		{"", "", true},
		{"1", "", false},
		{"fp8", "bf16", false},
		{"0.1 0.2", "0.1", false},
	} {
		if got := equal(c.a, c.b); got != c.want {
			t.Errorf("equal(%q, %q) = %t", c.a, c.b, got)
		}
	}
}

// TestCommandLine reads options however they are written, and nothing before
// the program.
func TestCommandLine(t *testing.T) {
	got, err := commandLine([]byte("arguments=(\n  --a 1 # why\n  --b\n  --c=2\n  --d x y\n)\nexec torchrun --nnodes=3 p/pretrain_gpt.py \"${arguments[@]}\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"--a": "1", "--b": "", "--c": "2", "--d": "x y"} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %q, not %q", name, value, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
	if _, err := commandLine([]byte("echo hello\n")); err == nil {
		t.Error("a script without a program has options")
	}
}
