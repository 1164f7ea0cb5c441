// Package ndc holds the tests of the repository as a whole: the import table,
// package documentation and the rules that no single package can check.
package ndc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ndc-dev/ndc"

// packages parses every package of the module, tests left out.
func packages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	found := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "out") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		found[dir] = append(found[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// importTable reads imports.txt.
func importTable(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			table[words[0]] = words[1:]
		}
	}
	return table
}

// row finds the row of a package; tools/* stands for everything below tools.
func row(table map[string][]string, pkg string) ([]string, bool) {
	if allowed, ok := table[pkg]; ok {
		return allowed, true
	}
	top, _, _ := strings.Cut(pkg, "/")
	allowed, ok := table[top+"/*"]
	return allowed, ok
}

// TestImports: packages import what their rows allow, and rows allow nothing else.
func TestImports(t *testing.T) {
	table, found := importTable(t), packages(t)
	for pkg, files := range found {
		allowed, ok := row(table, pkg)
		if !ok {
			t.Errorf("%s has no row in imports.txt", pkg)
			continue
		}
		var imported []string
		for _, f := range files {
			for _, spec := range f.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if !mayImport(allowed, name) {
					t.Errorf("%s imports %s, which its row in imports.txt does not allow", pkg, name)
				}
				imported = append(imported, name)
			}
		}
		for _, a := range allowed {
			if a != "*" && !slices.ContainsFunc(imported, func(name string) bool { return mayImport([]string{a}, name) && !isStandard(name) }) {
				t.Errorf("%s does not import %s, which its row in imports.txt allows", pkg, a)
			}
		}
	}
	for pkg := range table {
		if _, ok := found[pkg]; !ok && !strings.HasSuffix(pkg, "/*") {
			t.Errorf("imports.txt has a row for %s, which is no package", pkg)
		}
	}
}

// isStandard reports whether an import is one of the standard library.
func isStandard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

func mayImport(allowed []string, name string) bool {
	if own, ok := strings.CutPrefix(name, module+"/"); ok {
		return slices.Contains(allowed, own) || slices.Contains(allowed, "*")
	}
	if isStandard(name) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "*" || strings.Contains(a, ".") && (name == a || strings.HasPrefix(name, a+"/"))
	})
}

// TestCoreIsPure keeps files, clocks and environments out of everything but the command
// and what it writes and fetches with: every other package works on what it is given.
func TestCoreIsPure(t *testing.T) {
	impure := []string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2", "syscall"}
	for pkg, files := range packages(t) {
		if top, _, _ := strings.Cut(pkg, "/"); slices.Contains([]string{"cmd", "output", "fetch", "tools", "integration"}, top) {
			continue
		}
		for _, f := range files {
			for _, spec := range f.Imports {
				if name, _ := strconv.Unquote(spec.Path.Value); slices.Contains(impure, name) {
					t.Errorf("%s imports %s: only cmd/ndc, output and fetch touch the system", pkg, name)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && (s.Sel.Name == "Now" || s.Sel.Name == "Since") {
					t.Errorf("%s reads the clock with time.%s", pkg, s.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestPackagesHaveDocumentation: every package says what it is.
func TestPackagesHaveDocumentation(t *testing.T) {
	for pkg, files := range packages(t) {
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc != nil && len(f.Doc.Text()) > 60 }) {
			t.Errorf("package %s has no doc comment that says what it is", path.Clean(pkg))
		}
	}
}

// TestNoReplaceDirectives: go install takes the module as it is.
func TestNoReplaceDirectives(t *testing.T) {
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "\nreplace ") {
		t.Error("go.mod has a replace directive, which breaks go install")
	}
}

// TestNoBackendNamesAnother: what a framework can do stands in the table of
// package backends/capability. No file of a backend names another, but for words
// that belong to the data it reads.
func TestNoBackendNamesAnother(t *testing.T) {
	names := map[string]*regexp.Regexp{
		"megatron":   regexp.MustCompile(`(?i)megatron`),
		"torchtitan": regexp.MustCompile(`(?i)torchtitan`),
		"deepspeed":  regexp.MustCompile(`(?i)deepspeed`),
	}
	// What may be said all the same.
	allowed := regexp.MustCompile("(?i)" + strings.Join([]string{
		`format (= )?\\?"megatron\\?"`, `form == "megatron"`, `data\["format"\] == "megatron"`, // a value of training.data.format
		`megatron\.bin`, `megatron's (\.bin|index|")`, `(a|one) megatron (prefix|index|\.bin|\.idx)`, `index of megatron-lm`, // those files
		`megatron/core/datasets/indexed_dataset\.py`, `megatron_?tokens`, `megatron_dtypes`,
		`as in Megatron-LM$`, `as in Megatron-LM\."""`, // comments of emitted files
	}, "|"))
	for own := range names {
		for _, name := range sources(t, path.Join("backends", own)) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				for other, word := range names {
					if other != own && word.MatchString(allowed.ReplaceAllString(line, "")) {
						t.Errorf("%s:%d names %s: %s", name, i+1, other, strings.TrimSpace(line))
					}
				}
			}
		}
	}
}

// sources lists the files of a folder and those below, apart from tests.
func sources(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case !d.IsDir() && !strings.HasSuffix(name, "_test.go"):
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWidths: a struct of fifty fields is a function turned inside out. 24 is
// the most under compiler/, where a search evaluates.
func TestWidths(t *testing.T) {
	for pkg, files := range packages(t) {
		if pkg != "compiler" && !strings.HasPrefix(pkg, "compiler/") {
			continue
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					if s, ok := spec.Type.(*ast.StructType); ok && s.Fields.NumFields() > 24 {
						t.Errorf("%s.%s has %d fields", pkg, spec.Name.Name, s.Fields.NumFields())
					}
				}
				return true
			})
		}
	}
}
