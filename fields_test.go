package ndc

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// elsewhere says of a field that package lang alone looks at what comes of it.
var elsewhere = map[string]string{
	"Cluster.Catalog": "a name", "Cluster.Name": "a name", "Model.Catalog": "a name",
	"Model.BuiltBy":   "printed by ndc catalog",
	"Model.Published": "warned of when a run would train with it",
	"Source.Value":    "told to reviewers, by review/record",
}

// TestEveryFieldIsRead: what package lang makes of an argument is a field of a
// job, which TestNoSilentArgument of that package proves. Here each field is
// read by the compiler, a backend or the command, or is an option of which a backend
// has a row, unless it comes from an argument that the schema calls one for readers.
func TestEveryFieldIsRead(t *testing.T) {
	read := fieldsRead(t, "./compiler/...", "./backends/...", "./lang/job", "./cmd/ndc")
	maps.Copy(read, optionsWithRows(t))
	informs := informing(&schema.File, map[string]bool{})
	for _, field := range slices.Sorted(maps.Keys(fieldsOf(reflect.TypeFor[job.Job](), map[string]bool{}))) {
		_, name, _ := strings.Cut(field, ".")
		switch forReaders := informs[strings.ToLower(name)] && name != "Sources"; { // of data, and of messages
		case !read[field] && !forReaders && elsewhere[field] == "":
			t.Errorf("nothing reads job.%s", field)
		case read[field] && (forReaders || elsewhere[field] != ""):
			t.Errorf("job.%s is read, so that its argument is not for readers only", field)
		}
	}
}

// fieldsRead lists the fields of package job that code looks at, as TYPE.FIELD.
func fieldsRead(t *testing.T, patterns ...string) map[string]bool {
	t.Helper()
	loaded, err := gopackages.Load(&gopackages.Config{Mode: gopackages.LoadSyntax}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		if p.PkgPath == module+"/compiler/option" {
			continue // it lists all fields, and so reads none
		}
		for _, file := range p.Syntax {
			written := assigned(file)
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && !written[s] {
					noteField(p.TypesInfo.Selections[s], read)
				}
				return true
			})
		}
	}
	return read
}

// optionsWithRows lists the fields of options of execution that a row of a backend is
// about: package backends/execution reads them through package option.
func optionsWithRows(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("backends/*/execution.go")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(b)
	}
	read := map[string]bool{}
	var x job.Execution
	for i := range option.Options {
		o := &option.Options[i]
		if !regexp.MustCompile(`Option:\s+"` + regexp.QuoteMeta(o.Name) + `"`).MatchString(rows.String()) {
			continue
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(x)) {
			if reflect.ValueOf(&x).Elem().FieldByIndex(f.Index).Addr().Interface() == o.Choice(&x) {
				read["Execution."+f.Name] = true
			}
		}
	}
	return read
}

// assigned lists the selectors that a file only gives a value.
func assigned(file *ast.File) map[ast.Node]bool {
	found := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, left := range a.Lhs {
				found[left] = true
			}
		}
		return true
	})
	return found
}

func noteField(s *types.Selection, read map[string]bool) {
	if s == nil || s.Kind() != types.FieldVal {
		return
	}
	of := s.Recv()
	if p, ok := of.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	if named, ok := types.Unalias(of).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"/lang/job" {
		read[named.Obj().Name()+"."+s.Obj().Name()] = true
	}
}

// fieldsOf lists the fields of a type of package job and of those in it.
func fieldsOf(t reflect.Type, found map[string]bool) map[string]bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != module+"/lang/job" || strings.Contains(t.Name(), "[") {
		return found
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name := t.Name() + "." + f.Name; !found[name] && f.IsExported() {
			found[name] = true
			fieldsOf(f.Type, found)
		}
	}
	return found
}

// informing lists the arguments for readers, spelt as Go does.
func informing(b *schema.Block, found map[string]bool) map[string]bool {
	for _, a := range b.Arguments {
		if a.Informs {
			found[strings.ReplaceAll(a.Name, "_", "")] = true
		}
	}
	for i := range b.Blocks {
		informing(&b.Blocks[i], found)
	}
	return found
}
