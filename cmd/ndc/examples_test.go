package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestExamples builds every example anew and compares each file with the
// committed out/ and lock, byte for byte. Of an example without a feasible plan, what is printed
// is compared with output.txt.
func TestExamples(t *testing.T) {
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			t.Run(e.Name(), func(t *testing.T) { buildExample(t, filepath.Join("../../examples", e.Name())) })
		}
	}
}

func buildExample(t *testing.T, folder string) {
	copied := t.TempDir()
	job, out := filepath.Join(copied, "job.hcl"), filepath.Join(copied, "out")
	for _, name := range []string{"job.hcl", lock.Name} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) && name == lock.Name {
			continue
		}
		if err = errors.Join(err, os.WriteFile(filepath.Join(copied, name), content, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	code := run([]string{"build", job, "--replan"}, &stdout, &stderr)
	if code == exitInput {
		t.Fatal(stderr.String())
	}
	got := tree(t, out)
	if code == exitOK {
		if err := checkFiles(got); err != nil {
			t.Error(err)
		}
	}
	checkDigits(t, got)
	if filepath.Base(folder) == "llama3-70b" {
		checkReadme(t, strings.ReplaceAll(stdout.String(), out, "examples/llama3-70b/out"))
	}
	if *golden.Update {
		updateExample(t, folder, copied, stdout.Bytes(), code)
	}
	want := tree(t, filepath.Join(folder, "out"))
	want[lock.Name], got[lock.Name] = tree(t, folder)[lock.Name], tree(t, copied)[lock.Name]
	printed := tree(t, folder)["output.txt"]
	switch {
	case code == exitInfeasible:
		if diff := cmp.Diff(printed, stdout.String()); diff != "" {
			t.Errorf("output.txt (-committed +printed; -update rewrites it):\n%s", diff)
		}
	case printed != "":
		t.Error("output.txt is stale: the example has a plan; -update removes it")
	case len(want) == 1:
		t.Fatal("the example has no committed out/; -update writes it")
	}
	compareExample(t, want, got)
}

func compareExample(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is stale: nothing writes it; -update removes it", name)
		}
	}
	for _, name := range keys(got) {
		if want[name] != got[name] {
			t.Errorf("%s (-committed +built; -update rewrites it):\n%.4000s", name, cmp.Diff(want[name], got[name]))
		}
	}
}

// updateExample writes what differs and removes what nothing writes any more.
func updateExample(t *testing.T, folder, built string, printed []byte, code int) {
	t.Helper()
	want := map[string]string{"output.txt": string(printed)}
	if code != exitInfeasible {
		want = map[string]string{lock.Name: tree(t, built)[lock.Name]}
		for name, content := range tree(t, filepath.Join(built, "out")) {
			want[filepath.Join("out", name)] = content
		}
	}
	for name := range tree(t, folder) {
		_, written := want[name]
		if stale := !written && (name == "output.txt" || name == lock.Name || strings.HasPrefix(name, "out/")); !stale {
			continue
		}
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range want {
		golden.Write(t, filepath.Join(folder, name), []byte(content))
	}
}

// TestExamplesCheck asks build --check of every example in its place.
func TestExamplesCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("TestExamples compares the same bytes")
	}
	paths, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no examples: ", err)
	}
	for _, path := range paths {
		var stdout, stderr bytes.Buffer
		code := run([]string{"build", path, "--check"}, &stdout, &stderr)
		if feasible := len(tree(t, filepath.Join(filepath.Dir(path), "out"))) > 0; feasible && code != exitOK || !feasible && code != exitInfeasible {
			t.Errorf("%s: exit code %d\n%.4000s%s", path, code, stdout.String(), stderr.String())
		}
	}
}

// tree reads a folder; one that is not there is empty.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files, err := readTree(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// console is the demonstration in the README.
var console = regexp.MustCompile("(?s)```console\n.*?```")

// checkReadme holds the README's demonstration to what is printed.
func checkReadme(t *testing.T, printed string) {
	t.Helper()
	const name = "../../README.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, name, console.ReplaceAllLiteral(text, []byte("```console\n"+shorten(printed)+"```")))
}

// shorten keeps the first plan and cuts long lines.
func shorten(printed string) string {
	const width = 120
	var b strings.Builder
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		if r := []rune(line); len(r) > width {
			line = string(r[:width-1]) + "…"
		}
		b.WriteString(line + "\n")
		if strings.HasPrefix(line, "Submit") {
			break
		}
	}
	return b.String()
}
