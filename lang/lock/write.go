package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/compiler/option"
)

const header = `# Written by ndc build and ndc init, which keep to it. Commit it; do not edit it.
# ndc build --replan chooses anew.
`

// Bytes is the text of the lock, in the canonical format.
func (f *File) Bytes() []byte {
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	for i := range f.Modules {
		body.AppendNewline()
		f.Modules[i].write(body)
	}
	for i := range f.Plans {
		body.AppendNewline()
		f.Plans[i].write(body)
	}
	return hclwrite.Format(append([]byte(header), file.Bytes()...))
}

func (m *Module) write(to *hclwrite.Body) {
	body := to.AppendNewBlock("module", []string{m.Address}).Body()
	for _, a := range [][2]string{{"source", m.Source}, {"version", m.Version}, {"commit", m.Commit}, {"hash", m.Hash}} {
		if a[1] != "" {
			body.SetAttributeValue(a[0], cty.StringVal(a[1]))
		}
	}
}

func (p *Plan) write(to *hclwrite.Body) {
	labels := []string{p.Job, p.Backend}
	if p.Site != "" {
		labels = append(labels, p.Site)
	}
	body := to.AppendNewBlock("plan", labels).Body()
	body.SetAttributeValue("since_version", cty.StringVal(p.SinceVersion))
	body.SetAttributeValue("inputs", cty.StringVal(p.Inputs))
	body.AppendNewline()
	layout := body.AppendNewBlock("layout", nil).Body()
	for i := range option.Axes {
		if slices.Contains(p.Choice.Open, option.Axes[i].Name) {
			continue // its zero would be read as what was chosen
		}
		layout.SetAttributeValue(option.Axes[i].JSON(), valueOf(option.Axes[i].Value(&p.Choice.Layout)))
	}
	body.AppendNewline()
	execution := body.AppendNewBlock("execution", nil).Body()
	for i := range option.Options {
		if slices.Contains(p.Choice.Open, option.Options[i].Name) {
			continue
		}
		execution.SetAttributeValue(option.Options[i].JSON(), valueOf(option.Options[i].Value(&p.Choice.Execution)))
	}
}

// valueOf is what a pointer leads to, as HCL writes it. A list without entries
// is one.
func valueOf(pointer any) cty.Value {
	if list, ok := pointer.(*[]int); ok && *list == nil {
		pointer = []int{}
	}
	text, err := json.Marshal(pointer)
	if err != nil {
		panic("lock: a value that JSON cannot hold: " + err.Error())
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic("lock: " + err.Error())
	}
	return ctyOf(v)
}

// ctyOf is what JSON held. A whole number has 64 bits: those of 512 that cty
// reads from texts take a hundred times as long to be written.
func ctyOf(v any) cty.Value {
	switch v := v.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return cty.NumberIntVal(n)
		}
		return cty.MustParseNumberVal(v.String())
	case []any:
		list := make([]cty.Value, len(v))
		for i, element := range v {
			list[i] = ctyOf(element)
		}
		return cty.TupleVal(list)
	}
	panic(fmt.Sprintf("lock: a choice has no value of the type %T", v))
}
