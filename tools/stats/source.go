package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// longFile is the number of lines that files stay under unless they are tables.
const longFile = 600

// source is what was counted of a tree.
type source struct {
	of     map[string]*counts // by folder
	widths []width
	large  []string
	bare   []string // exported and without a doc comment
}

// counts are of one package.
type counts struct{ files, lines, tests int }

// width is the number of fields of a struct type.
type width struct {
	name   string // folder.Type
	fields int
}

func (s *source) names() []string { return slices.Sorted(maps.Keys(s.of)) }

// read counts the Go files below a folder.
func read(root string) (*source, error) {
	s := &source{of: map[string]*counts{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "out"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		return s.file(path)
	})
	return s, err
}

func (s *source) file(path string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	dir, lines := filepath.ToSlash(filepath.Dir(path)), set.Position(f.End()).Line
	if s.of[dir] == nil {
		s.of[dir] = &counts{}
	}
	if strings.HasSuffix(path, "_test.go") {
		s.of[dir].tests += lines
		return nil
	}
	s.of[dir].files++
	s.of[dir].lines += lines
	if lines > longFile {
		s.large = append(s.large, fmt.Sprintf("%s: %d", path, lines))
	}
	for _, d := range f.Decls {
		s.declaration(dir, d)
	}
	return nil
}

func (s *source) declaration(dir string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			s.bare = append(s.bare, dir+"."+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s.spec(dir, d, spec)
		}
	}
}

func (s *source) spec(dir string, d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name := dir + "." + spec.Name.Name
		if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
			s.bare = append(s.bare, name)
		}
		if t, ok := spec.Type.(*ast.StructType); ok {
			s.widths = append(s.widths, width{name, t.Fields.NumFields()})
		}
	case *ast.ValueSpec: // a comment may stand above the group, above the line or behind it
		for _, n := range spec.Names {
			if n.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				s.bare = append(s.bare, dir+"."+n.Name)
			}
		}
	}
}

// exportedReceiver reports whether a function is none of an unexported type,
// whose methods are documented by the interfaces that they fulfil.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}
