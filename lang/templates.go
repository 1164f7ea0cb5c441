package lang

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// siteTemplates are those of a site block.
type siteTemplates struct {
	blocks []*hclsyntax.Block // as written; one at most
	list   []job.Template
	places map[string]diag.Range // by part
}

// readTemplates reads the templates of a site.
func (l *loader) readTemplates(n *node) {
	for i, b := range n.templates.blocks {
		if i > 0 {
			l.duplicate(b, schema.File.Block("site").Block("templates"), rangeOf(n.templates.blocks[0].DefRange()))
			return
		}
		l.templatesOf(n, b)
	}
}

// templatesOf reads a block of templates: files of the module, or text.
func (l *loader) templatesOf(n *node, b *hclsyntax.Block) {
	spec := schema.File.Block("site").Block("templates")
	l.label(b, spec)
	for _, inner := range b.Body.Blocks {
		l.unknownBlock(inner, spec)
	}
	n.templates.places = map[string]diag.Range{}
	for _, a := range ordered(b.Body.Attributes) {
		if spec.Argument(a.Name) == nil {
			l.unknownArgument(a, spec)
			continue
		}
		t := job.Template{Part: a.Name}
		ok := false
		if call, isCall := a.Expr.(*hclsyntax.FunctionCallExpr); isCall && call.Name == "file" {
			ok = l.templateFile(n.scope.module, call, &t)
		} else if v, known := l.value(a.Expr, n.scope); known && v.IsKnown() && !v.IsNull() {
			if ok = v.Type() == cty.String; ok {
				t.Text = v.AsString()
			} else {
				l.fail(WrongType, rangeOf(a.Expr.Range()), "%q is file(\"NAME\") or text in quotes, not %s.", a.Name, describe(v))
			}
		}
		if ok && l.reviewable(&t, rangeOf(a.Expr.Range())) {
			n.templates.list = append(n.templates.list, t)
			n.templates.places[t.Part] = rangeOf(a.Expr.Range())
		}
	}
}

// reviewable reports a template that is no text, or another one for bash than for
// people.
func (l *loader) reviewable(t *job.Template, at diag.Range) bool {
	i, what := badText([]byte(t.Text))
	if r := strings.IndexByte(t.Text, '\r'); what == "" && r >= 0 {
		i, what = r, "a carriage return, which bash takes for a part of a word and terminals for the beginning of the line; save it with the ends of lines of Unix"
	}
	if mark := strings.IndexRune(t.Text, '\ufeff'); what == "" && mark >= 0 {
		i, what = mark, "a byte order mark, which nobody sees and bash takes for a part of a word; save it as UTF-8 without one"
	}
	if what != "" {
		l.fail(InvalidText, at, "The template holds, in line %d, %s.", 1+strings.Count(t.Text[:i], "\n"), what)
	}
	return what == ""
}

// templateFile reads the file that file("NAME") names, which lies in the module
// of the site.
func (l *loader) templateFile(m *module, call *hclsyntax.FunctionCallExpr, t *job.Template) bool {
	at := rangeOf(call.Range())
	if len(call.Args) != 1 || call.ExpandFinal || len(call.Args[0].Variables()) > 0 {
		l.fail(InvalidValue, at, "file takes one name that is written out, such as file(\"header.tmpl\"): a template is known before anything is evaluated.")
		return false
	}
	v, ok := l.compute(call.Args[0], nil)
	if !ok {
		return false
	}
	at = rangeOf(call.Args[0].Range())
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() || v.AsString() == "" {
		l.fail(WrongType, at, "The name of a file is text in quotes, not %s.", describe(v))
		return false
	}
	t.Name, t.File = v.AsString(), path.Join(m.folder, v.AsString())
	fsys, root, err := m.place.fsys, m.place.root, error(nil)
	if m.caller == nil {
		root = m.folder
		fsys, err = confined(m.fsys, root)
	}
	switch {
	case path.IsAbs(t.Name) || !within(t.File, root):
		l.fail(OutsideModule, at, "%q lies outside of the folder of this site, and a template is a file of it. Put the file beside the site.", t.Name)
		return false
	case err != nil:
		l.reportAt(unreadable(root, err), at)
		return false
	}
	src, diags := ReadFile(fsys, t.File)
	if l.size += len(src); !diags.HasErrors() && l.size > maxFolder {
		diags = fileTooLarge(t.File)
	}
	if l.reportAt(diags, at); diags.HasErrors() {
		return false
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")) // as git writes it on Windows, it is the same
	l.files[t.File] = src
	t.Text = string(src)
	return true
}

// reportAt reports diagnostics of a file at the place that names it.
func (l *loader) reportAt(diags diag.List, at diag.Range) {
	for i := range diags {
		diags[i].Range = at
	}
	l.report(diags)
}

// templatesFor are the templates of a job's site with what they see.
func (p *parts) templatesFor(into job.Sources) *job.Templates {
	if p.site == nil || len(p.site.templates.list) == 0 {
		return nil
	}
	for _, t := range p.site.templates.list {
		into["templates."+t.Part] = job.Source{Origin: job.FromSite, Range: p.site.templates.places[t.Part], Value: t.Text}
	}
	values := cty.EmptyObjectVal
	if a := p.site.tree.args["values"]; a != nil && !a.bad {
		values = a.value
	}
	return &job.Templates{Parts: p.site.templates.list, Values: map[string]any{
		"job":  jsonValue(p.planned()),
		"site": map[string]any{"name": p.site.tree.label, "values": jsonValue(values)},
	}}
}

// jsonValue is a value as JSON holds it, with numbers by their digits; nil for
// one that is not known.
func jsonValue(v cty.Value) any {
	if !v.IsWhollyKnown() {
		return nil
	}
	text, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil {
		panic("lang: a value that JSON cannot hold: " + err.Error())
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		panic("lang: a value that JSON cannot read: " + err.Error())
	}
	return plain
}
