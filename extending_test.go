package ndc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A fence of docs/extending.md that edits a file: its path, how, and the line
// it is about.
var edit = regexp.MustCompile("(?ms)^( *)```[a-z]+ (toy )?(\\S+)(?: (after|before|replace|change|new)(?: (\"[^\n]*\"))?)?\n(.*?)^ *```$")

// TestExtending makes every edit of docs/extending.md in a copy of the sources
// and runs the tests that stand beside them.
func TestExtending(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles most packages again")
	}
	guide, err := os.ReadFile("docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, replaced, packages, tests := t.TempDir(), map[string]string{}, map[string]bool{}, 0
	for _, m := range edit.FindAllStringSubmatch(string(guide), -1) {
		indent, toy, path, how, text := m[1], m[2] != "", m[3], m[4], outdent(m[6], m[1])
		if indent == "" != toy {
			t.Errorf("%s: edits stand below a step, tests beside them", path)
		}
		if toy {
			tests++
			packages["./"+filepath.ToSlash(filepath.Dir(path))] = true
		} else if how != "new" {
			line, err := strconv.Unquote(strings.ReplaceAll(m[5], "\t", `\t`))
			if err != nil {
				t.Fatalf("%s: %v", m[5], err)
			}
			text = edited(t, path, replaced[path], how, line, text)
		}
		name := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[path] = name
	}
	if tests < 6 {
		t.Errorf("%d tests; were the sections renamed?", tests)
	}
	runToys(t, dir, replaced, packages)
}

func outdent(text, indent string) string {
	return strings.ReplaceAll("\n"+text, "\n"+indent, "\n")[1:]
}

// edited is a file, or its copy that earlier edits have made, after one more.
func edited(t *testing.T, path, earlier, how, line, text string) string {
	t.Helper()
	if earlier == "" {
		earlier = filepath.FromSlash(path)
	}
	b, err := os.ReadFile(earlier)
	if err != nil {
		t.Fatal(err)
	}
	if how == "change" { // of a part of a line
		if strings.Count(string(b), line) != 1 {
			t.Fatalf("%s does not have %q once", path, line)
		}
		return strings.Replace(string(b), line, strings.TrimSuffix(text, "\n"), 1)
	}
	before, after, found := strings.Cut("\n"+string(b), "\n"+line+"\n")
	if !found {
		t.Fatalf("%s has no line %q", path, line)
	}
	switch how {
	case "after":
		text = line + "\n" + text
	case "before":
		text += line + "\n"
	}
	return (before + "\n" + text + after)[1:]
}

// runToys compiles the edited sources in place of the committed ones and runs
// the toys' tests.
func runToys(t *testing.T, dir string, replaced map[string]string, packages map[string]bool) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for path, name := range replaced {
		overlay["Replace"][filepath.Join(root, filepath.FromSlash(path))] = name
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"test", "-overlay", file, "-vet=off", "-v", "-run", "^TestToy"}
	for p := range packages {
		arguments = append(arguments, p)
	}
	out, err := exec.Command("go", arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	if passed := strings.Count(string(out), "--- PASS: TestToy"); passed < len(packages) {
		t.Errorf("%d toys passed of %d packages:\n%s", passed, len(packages), out)
	}
}
