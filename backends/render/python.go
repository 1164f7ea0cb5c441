package render

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Python writes a value as a Python literal: nil, bool, integers, float64,
// string, slices, Object (a dict in order) and PythonExpression.
func Python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case PythonExpression:
		return string(v)
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return pythonString(v)
	case float64:
		return pythonFloat(v)
	case Object:
		return pythonDict(v)
	}
	return pythonReflected(reflect.ValueOf(v))
}

// PythonExpression is Python text that ndc itself wrote; it must never hold a
// value from a job.
type PythonExpression string

func pythonReflected(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.String:
		return pythonString(v.String())
	case reflect.Slice, reflect.Array:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = Python(v.Index(i).Interface())
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	panic(fmt.Sprintf("render: no Python literal for %s", v.Type()))
}

func pythonDict(o Object) string {
	items := make([]string, len(o))
	for i, m := range o {
		items[i] = pythonString(m.Key) + ": " + Python(m.Value)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// pythonFloat keeps the value a float: 3 becomes 3.0.
func pythonFloat(f float64) string {
	s := Number(f)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

// pythonString uses double quotes and escapes what Python would read
// otherwise; other Unicode stays as it is.
func pythonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hides(r) || r == '\ufeff':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
