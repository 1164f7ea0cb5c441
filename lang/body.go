package lang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
	"github.com/ndc-dev/ndc/lang/units"
)

// evaluate turns a written block into a tree by the tables of the schema. It
// reports everything that can be told from the block alone and keeps going.
func (l *loader) evaluate(b *hclsyntax.Block, spec *schema.Block, s scope) *block {
	t := &block{spec: spec, origin: s.origin, args: map[string]*argument{}}
	if s.module != nil {
		t.header = rangeOf(b.DefRange())
		t.at = t.header
		if len(b.LabelRanges) > 0 {
			t.at = rangeOf(b.LabelRanges[0])
		}
	}
	t.broken = !l.label(b, spec)
	if len(b.Labels) > 0 {
		t.label = b.Labels[0]
	}
	if n := len(b.Body.Blocks); n > maxBlocks {
		t.broken = true
		l.fail(FileTooLarge, rangeOf(b.TypeRange), "%s holds %d blocks, and no job needs more than %d.", blockName(spec), n, maxBlocks)
		return t
	}
	for _, a := range ordered(b.Body.Attributes) {
		l.evaluateArgument(a, t, s)
	}
	for _, n := range b.Body.Blocks {
		l.evaluateNested(n, t, s)
	}
	return t
}

// ordered lists attributes as they stand in the file.
func ordered(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	list := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, a := range attributes {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	return list
}

func (l *loader) evaluateArgument(a *hclsyntax.Attribute, t *block, s scope) {
	spec := t.spec.Argument(a.Name)
	if spec == nil {
		t.misspelt(a.Name)
		l.unknownArgument(a, t.spec)
		return
	}
	if spec.Labels != nil && t.label != "" && slices.Contains(t.spec.Labels, t.label) && !slices.Contains(spec.Labels, t.label) {
		t.broken = true
		l.fail(InapplicableArgument, rangeOf(a.NameRange), "%q has no effect with %s %q; it belongs to %s. Remove it.",
			a.Name, t.spec.Name, t.label, diag.OneOf(spec.Labels))
		return
	}
	v, ok := l.value(a.Expr, s)
	if !ok {
		v = cty.DynamicVal
	}
	c := converter{spec: spec, expr: a.Expr}
	arg := c.convert(v)
	l.report(c.diags)
	if arg == nil {
		return
	}
	arg.source.Origin = s.origin
	for key, part := range arg.parts {
		arg.parts[key] = job.Source{Origin: s.origin, Range: part.Range}
	}
	if s.module == nil {
		arg.source.Range, arg.parts = diag.Range{}, nil
	}
	t.broken = t.broken || arg.bad
	t.args[a.Name] = arg
}

// misspelt notes what an unknown word in the block stands for. A base or a site may have
// all that seems missing.
func (b *block) misspelt(word string) {
	name := meant(word, b.spec)
	b.broken, b.meant = true, append(b.meant, name)
	b.partial = b.partial || name == "base" || name == "site"
}

// meant is the argument or block that an unknown word stands for, or "".
func meant(word string, spec *schema.Block) string {
	if spec.Argument(word) != nil || spec.Block(word) != nil {
		return word // one for the other
	}
	return suggest(word, slices.Concat(spec.ArgumentNames(), spec.BlockNames()))
}

// unknownArgument says what was meant, a block of that name included.
func (l *loader) unknownArgument(a *hclsyntax.Attribute, spec *schema.Block) {
	at := rangeOf(a.NameRange)
	if b := spec.Block(a.Name); b != nil {
		l.fail(UnknownArgument, at, "%q is a block: write %s, without the equals sign.", a.Name, blockForm(b))
		return
	}
	hint := didYouMean(a.Name, slices.Concat(spec.ArgumentNames(), spec.BlockNames()))
	switch {
	case hint != "" && spec.Name == "constraints": // a limit by another name: which there are is worth more than a guess
		hint = " It takes " + listed(spec.ArgumentNames()) + "." + hint
	case hint != "" && schema.Meant(a.Name, spec.ArgumentNames()) == "": // spelt alike, as the word of another block may be
		hint += belongs(a.Name, spec)
	case hint != "":
	case len(spec.Arguments) > 0 && len(spec.Arguments) < len(spec.Blocks):
		hint = " Here it takes " + listed(spec.ArgumentNames()) + ", and the blocks " + listed(spec.BlockNames()) + "." + elsewhere(a.Name, spec)
	case len(spec.Arguments) > 0:
		hint = " It takes " + listed(spec.ArgumentNames()) + "." + elsewhere(a.Name, spec)
	case len(spec.Blocks) > 0 && spec.Name != "file":
		hint = " Here it takes only the blocks " + listed(spec.BlockNames()) + "." + elsewhere(a.Name, spec)
	default:
		hint = elsewhere(a.Name, spec)
	}
	l.fail(UnknownArgument, at, "%s has no argument %q.%s", blockName(spec), a.Name, hint)
}

// suggest finds the word of the language that another tool's word stands for,
// or that is spelt most like it; "" when there is none.
func suggest(word string, known []string) string {
	if name := schema.Meant(word, known); name != "" {
		return name
	}
	return diag.Suggest(word, known)
}

// didYouMean is suggest as a sentence with a leading space, or "".
func didYouMean(word string, known []string) string {
	if name := schema.Meant(word, known); name != "" {
		return fmt.Sprintf(" Did you mean %q?", name)
	}
	return diag.DidYouMean(word, known)
}

// listed names at most ten things.
func listed(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// elsewhere says, as a sentence with a leading space, to which blocks of the
// language a word belongs that the given one does not have; where none has it
// and it is another tool's word that cannot be mistaken, what is meant. ""
// when nothing is called so.
func elsewhere(word string, not *schema.Block) string {
	if said := belongs(word, not); said != "" || !strings.Contains(word, "_") {
		return said
	}
	meant := ""
	at := homes(not, func(b *schema.Block) bool {
		name := schema.Meant(word, slices.Concat(b.ArgumentNames(), b.BlockNames()))
		meant = cmp.Or(name, meant)
		return name != ""
	})
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q of %s?", meant, at)
}

// belongs is elsewhere for the language's own words.
func belongs(word string, not *schema.Block) string {
	if at := homes(not, func(b *schema.Block) bool { return b.Argument(word) != nil }); at != "" {
		return fmt.Sprintf(" An argument of that name belongs to %s.", at)
	}
	if at := homes(not, func(b *schema.Block) bool { return b.Block(word) != nil }); at != "" {
		return fmt.Sprintf(" A block of that name belongs to %s.", at)
	}
	return ""
}

// homes names the blocks of which has is true: those below the given one, else
// others of its name, else those nearest the top; "" when there is none, or
// too many to be a help.
func homes(not *schema.Block, has func(*schema.Block) bool) string {
	found := shallowest(not, strings.TrimPrefix(not.Name, schema.File.Name), has)
	if len(found) == 0 {
		found = shallowest(&schema.File, "", func(b *schema.Block) bool { return b.Name == not.Name && has(b) })
	}
	if len(found) == 0 {
		found = shallowest(&schema.File, "", has)
	}
	if len(found) > 4 {
		return ""
	}
	return strings.Join(found, " or ")
}

// shallowest lists the paths of the blocks below b of which has is true: those
// of the least depth at which there is one.
func shallowest(b *schema.Block, prefix string, has func(*schema.Block) bool) (found []string) {
	type place struct {
		b    *schema.Block
		path string
	}
	for level := []place{{b, prefix}}; len(level) > 0 && len(found) == 0; {
		var below []place
		for _, p := range level {
			for i := range p.b.Blocks {
				n := place{&p.b.Blocks[i], strings.TrimPrefix(p.path+" > "+p.b.Blocks[i].Name, " > ")}
				if below = append(below, n); has(n.b) {
					found = append(found, n.path)
				}
			}
		}
		level = below
	}
	return found
}

// blockName starts a sentence about a block.
func blockName(b *schema.Block) string {
	if b.Name == "file" {
		return "The top of a file"
	}
	return "The block " + b.Name
}

// blockForm shows how a block is written.
func blockForm(b *schema.Block) string {
	if b.Label == schema.NoLabel {
		return b.Name + " { … }"
	}
	return b.Name + " \"…\" { … }"
}

func (l *loader) evaluateNested(n *hclsyntax.Block, t *block, s scope) {
	spec := t.spec.Block(n.Type)
	if spec == nil {
		t.misspelt(n.Type)
		l.unknownBlock(n, t.spec)
		return
	}
	c := l.evaluate(n, spec, s)
	t.broken = t.broken || c.broken
	for _, other := range t.all(n.Type) {
		if !spec.Repeatable || other.label == c.label {
			t.broken = true
			l.duplicate(n, spec, other.header)
			return
		}
	}
	t.blocks = append(t.blocks, c)
}

func (l *loader) duplicate(n *hclsyntax.Block, spec *schema.Block, first diag.Range) {
	what := fmt.Sprintf("The %s block", spec.Name)
	if spec.Repeatable && len(n.Labels) > 0 {
		what = fmt.Sprintf("The block %s %q", spec.Name, n.Labels[0])
	}
	l.fail(DuplicateBlock, rangeOf(n.DefRange()), "%s may stand only once here; the first is at line %d. Merge the two.", what, first.Start.Line)
}

func (l *loader) unknownBlock(n *hclsyntax.Block, spec *schema.Block) {
	at := rangeOf(n.TypeRange)
	if spec.Argument(n.Type) != nil {
		l.fail(UnknownBlock, at, "%q is an argument: write %s = …, with an equals sign.", n.Type, n.Type)
		return
	}
	hint := didYouMean(n.Type, slices.Concat(spec.BlockNames(), spec.ArgumentNames()))
	switch {
	case hint == "" && spec.Name == schema.File.Name && schema.TestFile.Block(n.Type) != nil:
		hint = " Tests stand in files of their own beside the jobs, NAME.ndctest.hcl."
	case hint == "" && len(spec.Blocks) == 0:
		hint = " It takes no blocks." + elsewhere(n.Type, spec)
	case hint == "":
		hint = " It takes " + listed(spec.BlockNames()) + "." + elsewhere(n.Type, spec)
	}
	l.fail(UnknownBlock, at, "%s has no block %q.%s", blockName(spec), n.Type, hint)
}

// label checks the labels of a block.
func (l *loader) label(b *hclsyntax.Block, spec *schema.Block) bool {
	want := 1
	if spec.Label == schema.NoLabel {
		want = 0
	}
	switch {
	case len(b.Labels) < want:
		l.fail(InvalidLabel, rangeOf(b.TypeRange), "%s needs a label, %s: %s.%s", blockName(spec), spec.LabelDoc, blockForm(spec), choices(spec))
		return false
	case len(b.Labels) > want:
		l.fail(InvalidLabel, rangeOf(b.LabelRanges[want]), "%s takes %s: %s.", blockName(spec), [...]string{"no label", "one label"}[want], blockForm(spec))
		return false
	case want == 0:
		return true
	}
	return l.labelText(b.Labels[0], rangeOf(b.LabelRanges[0]), spec)
}

func choices(spec *schema.Block) string {
	if spec.Labels == nil {
		return ""
	}
	return " The labels are " + diag.OneOf(spec.Labels) + "."
}

func (l *loader) labelText(label string, at diag.Range, spec *schema.Block) bool {
	switch spec.Label {
	case schema.Identifier:
		if hclsyntax.ValidIdentifier(label) {
			return true
		}
		l.fail(InvalidLabel, at, "%s is not a name that references can use. A name has letters, digits, underscores and hyphens and starts with a letter.", quoteShort(label))
	case schema.JobName:
		if job.IsName(label) {
			return true
		}
		l.fail(InvalidLabel, at, "%s cannot name a job, because the name becomes paths and the Slurm job's name. It must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}: letters, digits, dots, underscores and hyphens, at most 64, not starting with a sign.", quoteShort(label))
	case schema.Choice:
		if slices.Contains(spec.Labels, label) {
			return true
		}
		l.fail(UnknownValue, at, "There is no %s %s.%s%s", spec.Name, quoteShort(label), choices(spec), didYouMean(label, spec.Labels))
	default:
		switch {
		case label == "":
			l.fail(InvalidLabel, at, "The label of %s must not be empty.", spec.Name)
		case strings.ContainsFunc(label, unicode.IsControl):
			l.fail(InvalidLabel, at, "%s cannot be the label of %s, which is told on one line: it has a control character.", quoteShort(label), spec.Name)
		default:
			return true
		}
	}
	return false
}

// expressionDiags reports what HCL found in an expression.
func (l *loader) expressionDiags(diags hcl.Diagnostics) {
	for _, d := range diags {
		id := InvalidExpression
		at := diag.Range{}
		if d.Subject != nil {
			at = rangeOf(*d.Subject)
		}
		if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
			l.unknownFunction(extra.CalledFunctionName(), at)
			continue
		}
		if budget.TooLarge(d) {
			l.fail(FileTooLarge, at, "%s", d.Detail)
			continue
		}
		l.diags.Error(id, at, d.Summary, sentence(d.Detail)+l.absent(d)+l.nulls(d))
		l.enough()
	}
}

// absent names the key that a collection of names does not have, such as a cluster of
// the catalogue that a variable names or a file that a plan does not emit, and how many
// elements a list has.
func (l *loader) absent(d *hcl.Diagnostic) string {
	collection, key, at := indexed(d)
	if !collection.IsKnown() || collection.IsNull() || collection.IsMarked() || !key.IsKnown() || key.IsNull() || key.IsMarked() {
		return ""
	}
	switch t := collection.Type(); {
	case (t.IsListType() || t.IsTupleType()) && key.Type() == cty.Number:
		return fmt.Sprintf(" %s has %s, counted from 0.", l.source(at), units.Count(collection.LengthInt(), "element"))
	case !t.IsObjectType() && !t.IsMapType() || key.Type() != cty.String:
		return ""
	}
	var names []string // in their order
	for it := collection.ElementIterator(); it.Next(); {
		name, _ := it.Element()
		names = append(names, name.AsString())
	}
	name := key.AsString()
	if slices.Contains(names, name) {
		return ""
	}
	hint := didYouMean(name, names)
	if hint == "" && collection.Type().IsMapType() && len(names) > 0 {
		hint = " It has " + listed(names) + "."
	}
	return fmt.Sprintf(" %s has no %s.%s", l.source(at), quoteShort(name), hint)
}

// indexed is the collection that a diagnostic is about, the key that it was asked for, and
// where it stands; null where the diagnostic is about something else.
func indexed(d *hcl.Diagnostic) (collection, key cty.Value, at hcl.Range) {
	var diags hcl.Diagnostics
	switch e := d.Expression.(type) {
	case *hclsyntax.IndexExpr:
		if key, diags = e.Key.Value(d.EvalContext); !diags.HasErrors() {
			collection, diags = e.Collection.Value(d.EvalContext)
		}
		at = e.Collection.Range()
	case *hclsyntax.ScopeTraversalExpr:
		for i, step := range e.Traversal {
			if index, ok := step.(hcl.TraverseIndex); ok && d.Subject != nil && index.SrcRange == *d.Subject {
				key, at = index.Key, e.Traversal[:i].SourceRange()
				collection, diags = e.Traversal[:i].TraverseAbs(d.EvalContext)
			}
		}
	}
	if diags.HasErrors() {
		return cty.NilVal, cty.NilVal, at
	}
	return collection, key, at
}

// nulls names what is null of what the expression of a diagnostic reads, such as a
// cost where there is no price.
func (l *loader) nulls(d *hcl.Diagnostic) string {
	if d.Expression == nil || d.EvalContext == nil {
		return ""
	}
	var names []string
	for _, t := range d.Expression.Variables() {
		if v, diags := t.TraverseAbs(d.EvalContext); !diags.HasErrors() && v.IsKnown() && v.IsNull() {
			names = append(names, l.source(t.SourceRange()))
		}
	}
	slices.Sort(names)
	switch names = slices.Compact(names); len(names) {
	case 0:
		return ""
	case 1:
		return " " + names[0] + " is null."
	}
	return " " + listed(names) + " are null."
}

// sentence ends a text with a stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".?!:`") {
		s += "."
	}
	return s
}
