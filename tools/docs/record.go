package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/review/record"
)

const (
	recordPath   = "docs/job.schema.json"
	recordSource = "review/record/record.go"
)

// patterns are what texts of a record look like, by type and field.
var patterns = map[string]string{
	"File.format_version": `^1\.[0-9]+$`,
	"Value.path":          `^[a-z][a-z0-9_]*([.\[].*)?$`,
	"Value.origin":        `^(spec|module|site|catalog|default|plan):`,
	"Artifact.sha256":     `^[0-9a-f]{64}$`,
}

// recordSchema is docs/job.schema.json, what job.json holds, from the types of
// package review/record and their comments.
func recordSchema(root fs.FS) ([]byte, error) {
	source, err := fs.ReadFile(root, recordSource)
	if err != nil {
		return nil, err
	}
	comments, err := commentsOf(source)
	if err != nil {
		return nil, err
	}
	s := &schemaWriter{comments: comments, definitions: map[string]render.Object{}}
	s.object(reflect.TypeFor[record.File]())
	var definitions render.Object
	for _, t := range s.order[1:] {
		definitions = append(definitions, render.Member{Key: t, Value: s.definitions[t]})
	}
	top := render.Object{
		{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Key: "$id", Value: "https://github.com/ndc-dev/ndc/" + recordPath},
		{Key: "title", Value: "Job of ndc"},
	}
	top = append(top, s.definitions[s.order[0]]...)
	return render.JSON(append(top, render.Member{Key: "$defs", Value: definitions}))
}

// commentsOf are the comments of a file's types ("File") and of their fields
// ("File.Values"), each as one paragraph.
func commentsOf(source []byte) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path.Base(recordSource), source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	note := func(name string, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
				all[name] = text
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			return true
		}
		for _, spec := range d.Specs {
			t := spec.(*ast.TypeSpec)
			note(t.Name.Name, d.Doc)
			if fields, ok := t.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						note(t.Name.Name+"."+name.Name, f.Doc, f.Comment)
					}
				}
			}
		}
		return false
	})
	return all, nil
}

// schemaWriter writes the types that a type is made of.
type schemaWriter struct {
	comments    map[string]string
	definitions map[string]render.Object
	order       []string
}

// object describes a struct; fields without omitempty are always there, and
// others may be added.
func (s *schemaWriter) object(t reflect.Type) {
	if s.definitions[t.Name()] != nil {
		return
	}
	s.order = append(s.order, t.Name())
	s.definitions[t.Name()] = render.Object{} // not again
	var properties render.Object
	required := []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option != "omitempty" {
			required = append(required, name)
		}
		member := s.kind(f.Type)
		if comment := s.comments[t.Name()+"."+f.Name]; comment != "" {
			member = append(member, render.Member{Key: "description", Value: comment})
		}
		if pattern := patterns[t.Name()+"."+name]; pattern != "" {
			member = append(member, render.Member{Key: "pattern", Value: pattern})
		}
		properties = append(properties, render.Member{Key: name, Value: member})
	}
	s.definitions[t.Name()] = render.Object{
		{Key: "type", Value: "object"}, {Key: "description", Value: s.comments[t.Name()]},
		{Key: "properties", Value: properties}, {Key: "required", Value: required},
	}
}

// kind is what a Go type is in JSON.
func (s *schemaWriter) kind(t reflect.Type) render.Object {
	switch t.Kind() {
	case reflect.String:
		return render.Object{{Key: "type", Value: "string"}}
	case reflect.Slice:
		return render.Object{{Key: "type", Value: "array"}, {Key: "items", Value: s.kind(t.Elem())}}
	case reflect.Map:
		return render.Object{{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: s.kind(t.Elem())}}
	case reflect.Interface:
		return render.Object{}
	case reflect.Struct:
		s.object(t)
		return render.Object{{Key: "$ref", Value: "#/$defs/" + t.Name()}}
	}
	panic(fmt.Sprintf("docs: no JSON for %s", t))
}
