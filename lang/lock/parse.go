package lock

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
)

// Parse reads the text of a lock. What a later version of ndc may have added is
// left out; what cannot have been written by any is an error.
func Parse(src []byte, name string) (*File, diag.List) {
	r := reader{file: &File{}}
	body, diags := lang.Parse(src, name)
	if i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.ID == lang.SyntaxError }); i >= 0 {
		r.invalid(diags[i].Range, diags[i].Detail)
		return nil, r.diags
	}
	if diags.HasErrors() {
		return nil, diags
	}
	for _, b := range body.Blocks {
		switch b.Type {
		case "plan":
			r.plan(b)
		case "module":
			r.module(b)
		default:
			r.fail(b.TypeRange, "There is no block %q in a lock.%s", b.Type, diag.DidYouMean(b.Type, []string{"plan", "module"}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		r.fail(body.Attributes[name].NameRange, "There is no argument %q outside of a block.", name)
	}
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return r.file, nil
}

type reader struct {
	file  *File
	diags diag.List
}

func (r *reader) fail(at hcl.Range, format string, args ...any) {
	r.invalid(lang.RangeOf(at), fmt.Sprintf(format, args...))
}

func (r *reader) invalid(at diag.Range, why string) {
	r.diags.Error(IDInvalid, at, "The lock cannot be read",
		why+" ndc writes this file; take it back from version control (after a merge, either side of it: git checkout --ours, or --theirs), and build again. "+
			"Without it no choice is kept and modules are resolved anew, perhaps to other versions.")
}

func (r *reader) module(b *hclsyntax.Block) {
	if len(b.Labels) != 1 || !isAddress(b.Labels[0]) {
		r.fail(b.DefRange(), "A module has its address as its label.")
		return
	}
	if r.file.Module(b.Labels[0]) != nil {
		r.fail(b.DefRange(), "There are two entries for the module %q.", b.Labels[0])
		return
	}
	m := Module{Address: b.Labels[0], Source: r.text(b, "source"), Hash: r.text(b, "hash")}
	r.value(b, "version", &m.Version)
	r.value(b, "commit", &m.Commit)
	for _, n := range b.Body.Blocks {
		r.fail(n.TypeRange, "There is no block %q in a module.", n.Type)
	}
	r.file.Modules = append(r.file.Modules, m)
}

// isAddress reports whether a text is the address of a module, which becomes the
// name of a folder.
func isAddress(text string) bool {
	for name := range strings.SplitSeq(text, ".") {
		if !hclsyntax.ValidIdentifier(name) {
			return false
		}
	}
	return true
}

func (r *reader) plan(b *hclsyntax.Block) {
	if len(b.Labels) != 2 && len(b.Labels) != 3 {
		r.fail(b.DefRange(), "A plan has the labels JOB and BACKEND, and SITE where there is one.")
		return
	}
	p := Plan{Job: b.Labels[0], Backend: b.Labels[1]}
	if len(b.Labels) == 3 {
		p.Site = b.Labels[2]
	}
	if r.file.Find(p.Job, p.Backend, p.Site) != nil {
		r.fail(b.DefRange(), "There are two entries for %s on %s.", p.Job, p.Backend)
		return
	}
	p.SinceVersion, p.Inputs = r.text(b, "since_version"), r.text(b, "inputs")
	known := map[string]bool{}
	for i, n := range b.Body.Blocks {
		if slices.ContainsFunc(b.Body.Blocks[:i], func(o *hclsyntax.Block) bool { return o.Type == n.Type }) {
			r.fail(n.TypeRange, "There are two blocks %q in a plan.", n.Type)
			continue
		}
		switch n.Type {
		case "layout":
			for i := range option.Axes {
				a := &option.Axes[i]
				known[a.Name] = r.row(n, &a.Row, a.Value(&p.Choice.Layout))
			}
		case "execution":
			for i := range option.Options {
				o := &option.Options[i]
				known[o.Name] = !leftOpen(n, &o.Row) && r.row(n, &o.Row, o.Value(&p.Choice.Execution))
			}
		default:
			r.fail(n.TypeRange, "There is no block %q in a plan.%s", n.Type, diag.DidYouMean(n.Type, []string{"layout", "execution"}))
		}
	}
	for i := range option.Axes {
		p.Choice.Open = appendUnknown(p.Choice.Open, option.Axes[i].Name, known)
	}
	for i := range option.Options {
		p.Choice.Open = appendUnknown(p.Choice.Open, option.Options[i].Name, known)
	}
	r.misspelt(b, &p)
	if len(p.Choice.Open) == len(option.Axes)+len(option.Options) {
		r.fail(b.DefRange(), "The plan of %s on %s says nothing of its layout.", p.Job, p.Backend)
		return
	}
	r.file.Plans = append(r.file.Plans, p)
}

// misspelt reports names of a choice that are no axis or option, and nearly one
// that is missing: no version wrote that, and what it meant would be lost.
func (r *reader) misspelt(b *hclsyntax.Block, p *Plan) {
	for _, n := range b.Body.Blocks {
		for _, name := range slices.Sorted(maps.Keys(n.Body.Attributes)) {
			if slices.ContainsFunc(option.Axes, func(a option.Axis) bool { return a.Name == name }) ||
				slices.ContainsFunc(option.Options, func(o option.Option) bool { return o.JSON() == name }) {
				continue
			}
			if meant := diag.Suggest(name, p.Choice.Open); meant != "" {
				r.fail(n.Body.Attributes[name].NameRange, "There is no %q, and %q is missing.", name, meant)
			}
		}
	}
}

func appendUnknown(open []string, name string, known map[string]bool) []string {
	if known[name] {
		return open
	}
	return append(open, name)
}

// text reads an argument that is text.
func (r *reader) text(b *hclsyntax.Block, name string) string {
	var s string
	if !r.value(b, name, &s) && !r.diags.HasErrors() {
		r.fail(b.DefRange(), "The argument %q is missing.", name)
	}
	return s
}

// leftOpen reports the zero of an option that every plan has: builds before 0.1.0 wrote it
// for options which the entry, of an earlier build still, did not know.
func leftOpen(b *hclsyntax.Block, row *option.Row) bool {
	a := b.Body.Attributes[row.JSON()]
	if a == nil || row.Idle {
		return false
	}
	v, _ := literal(a.Expr)
	return v == "" || v == int64(0)
}

// row reads the value of an axis or option into the place that a pointer leads
// to, which has its zero, and reports whether it is there.
func (r *reader) row(b *hclsyntax.Block, row *option.Row, pointer any) bool {
	a := b.Body.Attributes[row.JSON()]
	if a == nil {
		return false
	}
	idle := reflect.ValueOf(pointer).Elem()
	return !r.allowed(row, a.Expr, idle) || r.value(b, row.JSON(), pointer)
}

// allowed holds a value, or each of a list, to what plans have for the row: its
// words and bounds, and where it need not apply, the zero. What is of another type
// is left to value.
func (r *reader) allowed(row *option.Row, expr hclsyntax.Expression, idle reflect.Value) bool {
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok {
		return !slices.ContainsFunc(list.Exprs, func(e hclsyntax.Expression) bool { return !r.allowed(row, e, idle) })
	}
	v, _ := literal(expr)
	if row.Idle && v != nil && fmt.Sprint(v) == fmt.Sprint(idle) {
		return true
	}
	switch v := v.(type) {
	case string:
		if words := row.Values; words != nil && !row.Takes(v) {
			r.fail(expr.Range(), "%q is no value of %s.%s", v, row.JSON(), diag.DidYouMean(v, words))
			return false
		}
	case int64:
		if (row.Kind == option.Count || row.Kind == option.Counts) && !row.Allows(v) {
			r.fail(expr.Range(), "%d is no value of %s.", v, row.JSON())
			return false
		}
	}
	return true
}

// value reads an argument into the place that a pointer leads to, and reports
// whether it is there.
func (r *reader) value(b *hclsyntax.Block, name string, pointer any) bool {
	a := b.Body.Attributes[name]
	if a == nil {
		return false
	}
	v, ok := literal(a.Expr)
	if ok {
		text, err := json.Marshal(v)
		ok = err == nil && json.Unmarshal(text, pointer) == nil
	}
	if !ok {
		r.fail(a.Expr.Range(), "This is no value of %s.", name)
	}
	return true
}

// literal is the value of an expression without anything to compute, as
// encoding/json has it: text, a number, a truth value, or a list of them.
func literal(expr hclsyntax.Expression) (any, bool) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return plain(e.Val)
	case *hclsyntax.TemplateExpr:
		if len(e.Parts) > 0 && !e.IsStringLiteral() {
			return nil, false
		}
		v, diags := e.Value(nil)
		if diags.HasErrors() {
			return nil, false
		}
		return plain(v)
	case *hclsyntax.TupleConsExpr:
		values := make([]any, len(e.Exprs))
		for i, element := range e.Exprs {
			v, ok := literal(element)
			if !ok {
				return nil, false
			}
			values[i] = v
		}
		return values, true
	}
	return nil, false
}

// plain is a text, a truth value or a number. A whole number is written from its
// bits: cty's 512 of them take a hundred times as long to be spelt as a decimal.
func plain(v cty.Value) (any, bool) {
	switch {
	case v.IsNull():
		return nil, false
	case v.Type() == cty.Bool:
		return v.True(), true
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if n, accuracy := f.Int64(); accuracy == big.Exact {
			return n, true
		}
		return json.Number(f.Text('g', -1)), true
	}
	return v.AsString(), true
}
