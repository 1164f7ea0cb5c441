package lsp

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/functions"
	"github.com/ndc-dev/ndc/lang/outline"
	"github.com/ndc-dev/ndc/lang/schema"
)

// completion offers what may stand at a position.
func (s *server) completion(_ context.Context, p *positionParams) (*completionList, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	place, at := d.place(p.Position)
	c := &completer{lookup: s.lookup(), document: d, folder: path.Dir(d.path), place: &place, at: at, list: []completionItem{}}
	s.mu.Lock()
	c.snippets = s.snippets
	s.mu.Unlock()
	switch place.Kind {
	case outline.Body, outline.BlockType, outline.ArgumentName:
		c.statements()
	case outline.Label:
		c.labels()
	case outline.Quoted:
		c.quoted()
	case outline.Value, outline.Function:
		c.value()
	}
	return &completionList{Items: c.list}, nil
}

// completer collects what may stand at a place.
type completer struct {
	*lookup
	document *document
	folder   string
	place    *outline.Place
	at       int // byte of the position
	snippets bool
	list     []completionItem
}

// add offers a text in the place of the word. Earlier ones are shown first.
func (c *completer) add(item completionItem, text string) {
	span := c.place.Word.Span
	span.End = max(span.End, c.at)
	item.SortText = fmt.Sprintf("%05d", len(c.list))
	item.TextEdit = &textEdit{c.document.text.span(span), text}
	c.list = append(c.list, item)
}

// statements offers arguments and blocks that are not written yet.
func (c *completer) statements() {
	spec := c.document.outline().Spec(*c.place)
	if spec == nil {
		return
	}
	written := map[string]bool{}
	label := ""
	if b := c.place.Block; b != nil {
		label = b.Label()
		for _, a := range b.Arguments {
			written[a.Name.Text] = a != c.place.Argument
		}
		for _, n := range b.Blocks {
			written[n.Type.Text] = n != c.place.Header && n.Spec != nil && !n.Spec.Repeatable
		}
	}
	for i := range spec.Arguments {
		a := &spec.Arguments[i]
		if !written[a.Name] && (a.Labels == nil || slices.Contains(a.Labels, label) || !slices.Contains(spec.Labels, label)) {
			c.argument(a)
		}
	}
	for i := range spec.Blocks {
		if b := &spec.Blocks[i]; !written[b.Name] {
			c.block(b)
		}
	}
	c.variables(written)
}

func (c *completer) argument(a *schema.Argument) {
	item := completionItem{Label: a.Name, Kind: kindProperty, Detail: a.Type.String(), Documentation: markdown(argumentDoc(a, effectOf(a, c.place.Block)))}
	if a.Required {
		item.Detail += ", required"
	}
	text := a.Name
	if c.place.Kind != outline.ArgumentName {
		text += " = "
	}
	c.add(item, text)
}

func (c *completer) block(b *schema.Block) {
	item := completionItem{Label: b.Name, Kind: kindStruct, Detail: "block", Documentation: markdown(blockDoc(b))}
	text := b.Name
	if c.snippets && c.place.Kind == outline.Body {
		item.InsertTextFormat = 2
		switch {
		case b.Label == schema.NoLabel:
			text += " {\n\t$0\n}"
		case b.Label == schema.Choice:
			text += ` "${1|` + strings.Join(b.Labels, ",") + `|}" {` + "\n\t$0\n}"
		default:
			text += ` "$1" {` + "\n\t$0\n}"
		}
	}
	c.add(item, text)
}

// variables offers the variables of a module, of a file of variables or of a
// test's run, as names of arguments.
func (c *completer) variables(written map[string]bool) {
	folder := ""
	switch b := c.place.Block; {
	case b == nil && strings.HasSuffix(c.document.path, ".ndcvars"), b != nil && b.Type.Text == "variables":
		folder = c.folder
	case b != nil && b.Type.Text == "module":
		if m := c.define(c.folder, "module", b.Label()); m != nil {
			folder = c.moduleFolder(c.folder, m)
		}
	}
	if folder == "" {
		return
	}
	for _, v := range c.definitions(folder, "var") {
		if name := v.label(); !written[name] {
			item := completionItem{Label: name, Kind: kindVariable, Detail: "variable", Documentation: markdown(excerpt(v.text()))}
			c.add(item, name+" = ")
		}
	}
}

// labels offers the labels of a block that has a closed set of them.
func (c *completer) labels() {
	spec := c.place.Header.Spec
	if spec == nil || len(c.place.Header.Labels) > 1 {
		return
	}
	for _, l := range spec.Labels {
		c.add(completionItem{Label: l, Kind: kindValue, Detail: spec.Name, Documentation: markdown(blockDoc(spec))}, c.inQuotes(l))
	}
}

// inQuotes adds quotes where none stand around the place.
func (c *completer) inQuotes(text string) string {
	if s := c.place.Word.Span.Start; s > 0 && c.document.text.content[s-1] == '"' {
		return text
	}
	return lang.Quote(text)
}

// quoted offers the closed set of an argument, within quotes.
func (c *completer) quoted() {
	a := c.place.Argument
	if a.Spec == nil {
		return
	}
	for _, v := range c.texts(a) {
		c.add(completionItem{Label: v, Kind: kindValue, Documentation: markdown(argumentDoc(a.Spec, effectOf(a.Spec, c.place.Block)))}, v)
	}
}

// texts are the values of an argument that are known names.
func (c *completer) texts(a *outline.Argument) []string {
	switch {
	case len(a.Spec.Enum) > 0:
		return a.Spec.Enum
	case len(a.Spec.Letters) > 0:
		return a.Spec.Words()
	case a.Name.Text == "version" && a.Block != nil && a.Block.Type.Text == "backend":
		newestFirst := slices.Clone(c.server.Program.Versions(a.Block.Label()))
		slices.Reverse(newestFirst)
		return newestFirst
	case a.Spec.Type == schema.Interval, a.Spec.Type == schema.Timeout:
		return []string{"auto"}
	case a.Spec.Type == schema.Chain:
		return []string{"until_done"}
	}
	return nil
}

// value offers what an expression may begin or go on with.
func (c *completer) value() {
	if c.place.Step > 0 {
		c.members(c.place.Steps[:c.place.Step])
		return
	}
	a := c.place.Argument.Spec
	if a != nil {
		for _, v := range c.texts(c.place.Argument) {
			c.add(completionItem{Label: v, FilterText: lang.Quote(v), Kind: kindValue, Documentation: markdown(argumentDoc(a, effectOf(a, c.place.Block)))}, lang.Quote(v))
		}
		if a.Type == schema.Bool || a.Type == schema.BoolChoice {
			for _, v := range []string{"true", "false"} {
				c.add(completionItem{Label: v, Kind: kindKeyword}, v)
			}
		}
		if kind := kindOf(a.Type); kind != "" {
			c.references(kind)
			return
		}
	}
	for _, r := range c.roots() {
		c.add(completionItem{Label: r.name, Kind: kindModule, Detail: r.doc}, r.name)
	}
	for _, name := range functions.Names() {
		c.add(completionItem{Label: name, Kind: kindFunction, Detail: functions.Signature(name), Documentation: markdown(functionDoc(name))}, name)
	}
}

// kindOf is the kind of block that an argument refers to, or "".
func kindOf(t schema.Type) string {
	switch t {
	case schema.ModelRef:
		return "model"
	case schema.ClusterRef:
		return "cluster"
	case schema.GPURef:
		return "gpu"
	case schema.JobRef:
		return "job"
	case schema.SiteRef:
		return "site"
	}
	return ""
}

// references offers all blocks of a kind: of this folder, of its modules, of the
// catalogue.
func (c *completer) references(kind string) {
	for _, d := range c.definitions(c.folder, kind) {
		c.reference("", kind, &d)
	}
	for _, m := range c.definitions(c.folder, "module") {
		if inner := c.moduleFolder(c.folder, &m); inner != "" {
			for _, d := range c.definitions(inner, kind) {
				c.reference("module."+m.label()+m.element(), kind, &d)
			}
		}
	}
	for _, name := range catalog.Names(kind) {
		c.entry("catalog."+kind+"."+name, kind, name)
	}
}

// reference offers a block by its whole name, behind that of the module that gives
// it. Whose element it is, the user fills in.
func (c *completer) reference(module, kind string, d *definition) {
	if kind == "job" && d.element() != "" {
		return // many jobs, and the base of none
	}
	text := kind + access(d.label())
	if module != "" {
		text = module + "." + text
	}
	c.defined(text, kind, d)
	if item := &c.list[len(c.list)-1]; c.snippets && strings.Contains(module, anyKey) {
		item.InsertTextFormat = 2
		item.TextEdit.NewText = strings.Replace(text, anyKey, `["${1:KEY}"]`, 1)
	}
}

// member offers a block behind the dot of its kind, which gives way to brackets
// where the label is no name.
func (c *completer) member(kind string, d *definition) {
	if kind == "job" && d.element() != "" {
		return
	}
	label, text := d.label(), access(d.label())
	if text[0] == '.' {
		c.defined(label, kind, d)
		return
	}
	start := c.place.Word.Span.Start - 1
	if start < 0 || c.document.text.content[start] != '.' {
		return
	}
	c.defined(label, kind, d)
	item := &c.list[len(c.list)-1]
	item.FilterText = "." + label
	item.TextEdit = &textEdit{c.document.text.span(outline.Span{Start: start, End: max(c.place.Word.Span.End, c.at)}), text}
}

// access is how a label is read of what stands before it: labels of jobs may have
// dots and begin with a digit.
func access(label string) string {
	if strings.Contains(label, ".") || label != "" && label[0] >= '0' && label[0] <= '9' {
		return "[" + lang.Quote(label) + "]"
	}
	return "." + label
}

// anyKey stands for one of the elements of for_each.
const anyKey = `["KEY"]`

// element is how one of the elements of a block is read; "" where it has none.
func (d *definition) element() string {
	switch {
	case d.block == nil:
		return ""
	case d.block.Argument("for_each") != nil:
		return anyKey
	case d.block.Argument("count") != nil:
		return "[0]"
	}
	return ""
}

func (c *completer) defined(text, kind string, d *definition) {
	c.add(completionItem{Label: text, Kind: kindRef, Detail: kind, Documentation: markdown(excerpt(d.text()))}, text)
}

func (c *completer) entry(text, kind, name string) {
	c.add(completionItem{Label: text, Kind: kindRef, Detail: headline(catalog.Source(kind, name)), Documentation: markdown(entryDoc(kind, name))}, text)
}

// root is a word that references begin with.
type root struct{ name, doc string }

func (c *completer) roots() []root {
	list := []root{
		{"var", "variables"}, {"local", "locals"}, {"model", "model blocks"}, {"cluster", "cluster blocks"}, {"gpu", "gpu blocks"}, {"catalog", "the built-in catalogue"},
		{"job", "job blocks"}, {"module", "what modules give"}, {"site", "site blocks"}, {"here", "the values of the job's site"},
	}
	top := c.place.Block
	for top != nil && top.Parent != nil {
		top = top.Parent
	}
	switch {
	case top == nil:
	case c.ofPlans():
		list = append(list, root{"plan", "the plan, as in plan.json"}, root{"artifacts", "the emitted files by path"})
	case top.Argument("for_each") != nil:
		list = append(list, root{"each", "the element of for_each"})
	case top.Argument("count") != nil:
		list = append(list, root{"count", "the number of the element"})
	}
	return list
}

// ofPlans reports whether a place is in a condition on plans, where job is the
// planned one.
func (c *completer) ofPlans() bool {
	b := c.place.Block
	return b != nil && (b.Type.Text == "policy" || b.Type.Text == "assert")
}

// members offers what may stand behind the first steps of a reference.
func (c *completer) members(steps []string) {
	switch first := steps[0]; {
	case first == "catalog" && len(steps) == 1:
		for _, kind := range catalog.Kinds() {
			c.add(completionItem{Label: kind, Kind: kindModule}, kind)
		}
		return
	case first == "catalog" && len(steps) == 2:
		for _, name := range catalog.Names(steps[1]) {
			c.entry(name, steps[1], name)
		}
		return
	case first == "plan" && c.ofPlans():
		c.planFields(steps[1:])
		return
	case first == "job" && c.ofPlans():
		planned := &meaning{spec: schema.File.Block("job"), steps: 1}
		c.attributes(planned.follow(steps), len(steps))
		return
	case first == "each" && len(steps) == 1:
		c.add(completionItem{Label: "key", Kind: kindField}, "key")
		c.add(completionItem{Label: "value", Kind: kindField}, "value")
		return
	case first == "here" && len(steps) == 1:
		c.values()
		return
	case first == "count" && len(steps) == 1:
		c.add(completionItem{Label: "index", Kind: kindField}, "index")
		return
	case len(steps) == 1:
		for _, d := range c.definitions(c.folder, first) {
			c.member(first, &d)
		}
		return
	case first == "module":
		c.moduleMembers(steps)
		return
	}
	c.attributes(c.resolve(c.folder, steps), len(steps))
}

// moduleMembers offers what a module gives.
func (c *completer) moduleMembers(steps []string) {
	d := c.define(c.folder, "module", steps[1])
	if d == nil {
		return
	}
	i := 2
	if d.element() != "" {
		i++
	}
	inner := c.moduleFolder(c.folder, d)
	switch {
	case inner == "":
	case len(steps) == i:
		for _, kind := range blockKinds {
			if len(c.definitions(inner, kind)) > 0 {
				c.add(completionItem{Label: kind, Kind: kindModule}, kind)
			}
		}
		for _, o := range c.definitions(inner, "output") {
			c.defined(o.label(), "output", &o)
		}
	case len(steps) == i+1:
		for _, b := range c.definitions(inner, steps[i]) {
			c.member(steps[i], &b)
		}
	default:
		c.attributes(c.resolve(c.folder, steps), len(steps))
	}
}

// attributes offers the members of a block, where all steps were followed.
func (c *completer) attributes(m *meaning, steps int) {
	if m == nil || m.spec == nil || m.steps != steps {
		return
	}
	for i := range m.spec.Arguments {
		if a := &m.spec.Arguments[i]; a.Name != "base" && a.Name != "without" {
			c.add(completionItem{Label: a.Name, Kind: kindField, Detail: a.Type.String(), Documentation: markdown(argumentDoc(a, 0))}, a.Name)
		}
	}
	for i := range m.spec.Blocks {
		b := &m.spec.Blocks[i]
		c.add(completionItem{Label: b.Name, Kind: kindField, Detail: "block", Documentation: markdown(blockDoc(b))}, b.Name)
	}
}
