package deepspeed

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/backends/schema"
)

// configWriter builds a nested object from paths such as "bf16.enabled", in
// the order of the first mention, and checks every path and value.
type configWriter struct {
	options *schema.Table
	object  render.Object
}

// set writes a key. One that the release does not know, or a value that it
// does not take, is a defect of this package.
func (c *configWriter) set(path string, value any) {
	if p := check(c.options, path, value); p != nil {
		panic("deepspeed: " + p.Error())
	}
	c.object = insert(c.object, strings.Split(path, "."), value)
}

// ifKnown writes a key that some releases lack; those behave as if it had
// this value.
func (c *configWriter) ifKnown(path string, value any) {
	if c.options.Has(path) {
		c.set(path, value)
	}
}

// check tests a key and its value against a table.
func check(t *schema.Table, path string, value any) *schema.Problem {
	switch v := value.(type) {
	case []float64, nil:
		return t.Check(path, "")
	case string:
		return t.Check(path, v)
	case float64:
		return t.Check(path, render.Number(v))
	}
	return t.Check(path, fmt.Sprint(value))
}

// insert sets a value under a path, making objects on the way.
func insert(o render.Object, path []string, value any) render.Object {
	at := -1
	for i := range o {
		if o[i].Key == path[0] {
			at = i
		}
	}
	if at < 0 {
		o = append(o, render.Member{Key: path[0]})
		at = len(o) - 1
	}
	if len(path) == 1 {
		o[at].Value = value
		return o
	}
	inner, _ := o[at].Value.(render.Object)
	o[at].Value = insert(inner, path[1:], value)
	return o
}

// leaves lists the paths of all values.
func leaves(o render.Object, prefix string) []string {
	var all []string
	for _, m := range o {
		if inner, ok := m.Value.(render.Object); ok {
			all = append(all, leaves(inner, prefix+m.Key+".")...)
		} else {
			all = append(all, prefix+m.Key)
		}
	}
	return all
}

// decode reads a JSON value; other text is a string.
func decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	return v
}
