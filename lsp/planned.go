package lsp

import (
	"reflect"
	"strings"

	"github.com/ndc-dev/ndc/compiler/plan/file"
)

// planFields offers the fields of a plan behind some of its names, as policies
// read them.
func (c *completer) planFields(steps []string) {
	t := reflect.TypeFor[file.Plan]()
	for _, name := range steps {
		f, ok := fieldOf(t, name)
		if !ok {
			return
		}
		t = f.Type
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" {
			c.add(completionItem{Label: name, Kind: kindField, Detail: typeName(t.Field(i).Type)}, name)
		}
	}
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if jsonName(t.Field(i)) == name {
				return t.Field(i), true
			}
		}
	}
	return reflect.StructField{}, false
}

// jsonName is the name of a field in JSON; "" where it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// typeName is what a field is in the language.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Pointer, reflect.Map:
		return "object"
	}
	return "number"
}
