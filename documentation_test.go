package ndc

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// TestLinks asks that every relative link of the documentation leads to a
// file.
func TestLinks(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "tools") { // parts of generated pages
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			checkLinks(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkLinks(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("%s links to %s, which is not there", name, m[1])
		}
	}
}

var attempt = regexp.MustCompile("(?m)^\\| .* \\| `([a-z/_]+(?:\\.[a-z]+)?)(?: (Test\\w+))?` \\|$")

// TestAttempts: what docs/modules.md says of attacks names a test that is there.
func TestAttempts(t *testing.T) {
	text, err := os.ReadFile("docs/modules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| attempt | stopped by | tried in |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table+"\n\n", "\n\n")
	rows := attempt.FindAllStringSubmatch(table, -1)
	if n := len(strings.Split(table, "\n")); n < 15 || len(rows) != n {
		t.Fatalf("%d of %d attempts name a test", len(rows), n)
	}
	for _, m := range rows {
		sources, _ := filepath.Glob(m[1] + "/*_test.go")
		if m[2] == "" {
			sources, _ = filepath.Glob(m[1])
		}
		found := false
		for _, source := range sources {
			b, err := os.ReadFile(source)
			found = found || err == nil && strings.Contains(string(b), "func "+m[2]+"(") || m[2] == ""
		}
		if !found {
			t.Errorf("there is no %s %s", m[1], m[2])
		}
	}
}

var tableModule = regexp.MustCompile(`(?m)^\| ([a-z0-9.-]+\.[a-z]+/[^ ]+) \|`)

var testFunction = regexp.MustCompile(`(?m)^(.*)\nfunc ((?:Test|Fuzz|Benchmark)\w+)\(\w+ \*testing\.[TFB]\)`)

// TestSentences: a comment says of every test what holds, so that whoever breaks it knows what
// was promised.
func TestSentences(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		for _, m := range testFunction.FindAllSubmatch(b, -1) {
			if !strings.HasPrefix(string(m[1]), "//") {
				t.Errorf("%s: no comment says what %s holds", filepath.ToSlash(name), m[2])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDependencies compares docs/dependencies.md with what the code imports;
// the tools of go.mod stand there, too.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for _, m := range tableModule.FindAllStringSubmatch(string(text), -1) {
		unused[m[1]] = !strings.Contains(m[1], "honnef.co")
	}
	for path, file := range outsideImports(t) {
		known := false
		for module := range unused {
			if path == module || strings.HasPrefix(path, module+"/") {
				unused[module], known = false, true
			}
		}
		if !known {
			t.Errorf("%s imports %s, which docs/dependencies.md does not explain", file, path)
		}
	}
	for module, nobody := range unused {
		if nobody {
			t.Errorf("docs/dependencies.md explains %s, which nothing imports", module)
		}
	}
}

// outsideImports lists the packages of other modules, tests included, with a
// file that imports each.
func outsideImports(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			first, _, _ := strings.Cut(path, "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(path, module) {
				found[path] = name
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
