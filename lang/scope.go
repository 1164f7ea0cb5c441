package lang

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/functions"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// scope says where an expression stands.
type scope struct {
	origin   job.Origin
	module   *module   // whose names are seen; nil in the catalogue, which sees only itself
	instance *instance // of the block around it, when that has for_each or count
	site     *node     // of the job around it; nil without one

	given map[string]cty.Value // further roots, such as plan in a policy
}

// node is something that expressions refer to: a local or a block.
type node struct {
	path  string // how expressions name it, such as "local.tokens"
	scope scope
	expr  hclsyntax.Expression // of a local
	block *hclsyntax.Block     // of a block
	state nodeState
	value cty.Value // unknown when what defines it was reported
	tree  *block    // of a block, with its base

	circular bool // in a circle that was reported

	calls    []call    // of a module block, once it is done
	policies []*policy // of a site

	templates siteTemplates // of a site

	keyed bool // whether those are told apart by keys
}

// address is the path with the module's, as objects and messages name the node.
func (n *node) address() string {
	if n.scope.module == nil {
		return n.path
	}
	return join(n.scope.module.address, n.path)
}

type nodeState uint8

const (
	untouched nodeState = iota
	underway
	done
)

// roots are the first words of references.
var roots = []string{"var", "local", "model", "cluster", "gpu", "catalog", "job", "module", "site", "here", "each", "count"}

// value evaluates an expression, what it refers to first. It returns false
// when something was reported.
func (l *loader) value(expr hclsyntax.Expression, s scope) (cty.Value, bool) {
	variables, ok := l.resolve(expr, s)
	if !ok {
		return cty.DynamicVal, false
	}
	return l.compute(expr, variables)
}

// compute evaluates an expression within the budget of the workspace. It
// returns false when something was reported.
func (l *loader) compute(expr hclsyntax.Expression, variables map[string]cty.Value) (cty.Value, bool) {
	if l.budget.Spent() {
		return cty.DynamicVal, false // reported where that happened
	}
	v, diags := l.budget.Value(expr, variables)
	if l.budget.Spent() {
		l.overspent(rangeOf(expr.Range()))
		return cty.DynamicVal, false
	}
	if diags.HasErrors() {
		l.expressionDiags(diags)
		return cty.DynamicVal, false
	}
	return v, true
}

// overspent reports, once, that the budget is used up.
func (l *loader) overspent(at diag.Range) {
	if !l.exhausted {
		l.exhausted = true
		l.fail(FileTooLarge, at, "Here the steps and values of all expressions together exceed %d, and no job needs that many. Nothing further was evaluated.", budget.MaxTotal)
	}
}

// resolve evaluates everything that an expression refers to.
func (l *loader) resolve(expr hclsyntax.Expression, s scope) (map[string]cty.Value, bool) {
	found := &known{}
	ok := true
	for _, t := range expr.Variables() {
		ok = l.resolveTraversal(t, s, found) && ok
	}
	variables := map[string]cty.Value{}
	for root, members := range found.members {
		variables[root] = members.object()
	}
	maps.Copy(variables, s.given)
	return variables, ok
}

// known is what references lead to, as objects within objects.
type known struct {
	value   cty.Value // of a leaf, or of the whole, of which members are parts
	members map[string]*known
}

func (k *known) put(v cty.Value, path ...string) {
	at := k.at(path...)
	at.value = v
}

// at returns the member at a path, which is made when it is not there.
func (k *known) at(path ...string) *known {
	for _, name := range path {
		if k.members == nil {
			k.members = map[string]*known{}
		}
		if k.members[name] == nil {
			k.members[name] = &known{}
		}
		k = k.members[name]
	}
	return k
}

func (k *known) object() cty.Value {
	if k.value != cty.NilVal {
		return k.value
	}
	values := map[string]cty.Value{}
	for name, member := range k.members {
		values[name] = member.object()
	}
	return cty.ObjectVal(values)
}

// resolveTraversal evaluates what one reference names into found.
func (l *loader) resolveTraversal(t hcl.Traversal, s scope, found *known) bool {
	root := t.RootName()
	if v, ok := s.given[root]; ok {
		return l.checkAttributes(t, 1, v.Type())
	}
	m := s.module
	switch {
	case !slices.Contains(roots, root) || m == nil && root != "catalog":
		l.unknownRoot(t, s)
		return false
	case root == "catalog":
		return l.resolveCatalog(t, found)
	case root == "each" || root == "count":
		return l.resolveInstance(t, s, found)
	case root == "here":
		return l.resolveHere(t, s, found)
	case root == "module":
		return m.resolveModule(t, found)
	}
	found = found.at(root)
	name, literal := step(t, 1)
	if !literal {
		return m.resolveAll(t, found)
	}
	if !m.defines(root, name) {
		m.undefined(t, root, fmt.Sprintf("There is no %s %q.", noun(root), name))
		return false
	}
	v := m.member(root, name, t)
	found.put(v, name)
	if root == "var" || root == "local" {
		return true // their types are not fixed: try() may ask for what is not there
	}
	return l.checkAttributes(t, 2, v.Type())
}

// resolveAll evaluates everything under the root of a reference whose name is
// computed; HCL checks the name.
func (m *module) resolveAll(t hcl.Traversal, found *known) bool {
	if !m.payFor(t, len(m.order)) {
		return false
	}
	root := t.RootName()
	for _, n := range m.names(root) {
		found.put(m.member(root, n, t), n)
	}
	return true
}

// checkAttributes reports the first step of a reference, from i on, that the
// type of what comes before it does not have.
func (l *loader) checkAttributes(t hcl.Traversal, i int, of cty.Type) bool {
	for ; i < len(t); i++ {
		if _, index := t[i].(hcl.TraverseIndex); index && (of.IsListType() || of.IsMapType()) {
			of = of.ElementType()
			continue
		}
		if kind := kindOf(of); slices.Contains(opaqueKinds, kind) {
			if _, index := t[i].(hcl.TraverseIndex); index && kind == "job" {
				l.fail(UnknownReference, rangeOf(t[i].SourceRange()), "No element of a job can be named: one with for_each or count is many jobs, and the base of none. Write what they share as a job of its own.")
				return false
			}
			l.fail(UnknownReference, rangeOf(t[i].SourceRange()), "A %s can be named, not read: it is %s.", kind, opaqueUse[kind])
			return false
		}
		name, ok := step(t, i)
		if !ok || !of.IsObjectType() {
			return true // HCL reports what cannot be
		}
		if !of.HasAttribute(name) {
			names := slices.Sorted(maps.Keys(of.AttributeTypes()))
			hint := diag.DidYouMean(name, names)
			if hint == "" && len(names) > 0 {
				hint = " It has " + strings.Join(names, ", ") + "."
			}
			l.fail(UnknownReference, rangeOf(t[i].SourceRange()), "There is no %s in this %s.%s", quoteShort(name), or(kindOf(of), "object"), hint)
			return false
		}
		of = of.AttributeType(name)
	}
	return true
}

// step returns the literal name at position i of a reference.
func step(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

func noun(root string) string {
	switch root {
	case "var":
		return "variable"
	case "local":
		return "local"
	}
	return root + " block"
}

// defines reports whether the module has root.name.
func (m *module) defines(root, name string) bool {
	if root == "var" {
		return m.variables[name] != nil
	}
	return m.node(root+"."+name) != nil
}

// names lists what the module defines under a root.
func (m *module) names(root string) []string {
	if root == "var" {
		return m.variableOrder
	}
	var names []string
	for _, n := range m.order {
		if name, ok := strings.CutPrefix(n.path, root+"."); ok {
			names = append(names, name)
		}
	}
	return names
}

// member evaluates root.name, which exists.
func (m *module) member(root, name string, t hcl.Traversal) cty.Value {
	if root == "var" {
		return m.variables[name].value
	}
	return m.settle(m.node(root+"."+name), t)
}

// resolveCatalog evaluates catalog.KIND.NAME, or all of a kind when the name
// is computed.
func (l *loader) resolveCatalog(t hcl.Traversal, found *known) bool {
	kinds := catalog.Kinds()
	kind, literal := step(t, 1)
	if literal {
		if !slices.Contains(kinds, kind) {
			l.unknownName(t, 2, fmt.Sprintf("The catalogue has no kind %q.", kind), kinds)
			return false
		}
		kinds = []string{kind}
	}
	for _, k := range kinds {
		names := catalog.Names(k)
		if name, literal := step(t, 2); literal {
			if !slices.Contains(names, name) {
				l.unknownName(t, 3, fmt.Sprintf("The catalogue has no %s %q.", k, name), names)
				return false
			}
			names = []string{name}
		}
		for _, n := range names {
			v := l.settle(l.catalogNode(k, n), t)
			found.put(v, "catalog", k, n)
			if len(names) == 1 && !l.checkAttributes(t, 3, v.Type()) {
				return false
			}
		}
	}
	return true
}

// catalogNode finds or parses an entry of the catalogue.
func (l *loader) catalogNode(kind, name string) *node {
	path := "catalog." + kind + "." + name
	if n := l.nodes[path]; n != nil {
		return n
	}
	file, diags := hclsyntax.ParseConfig(catalog.Source(kind, name), path, hcl.InitialPos)
	if diags.HasErrors() {
		panic("lang: " + diags.Error()) // tests parse every entry
	}
	n := &node{path: path, scope: scope{origin: job.FromCatalog}}
	n.block = file.Body.(*hclsyntax.Body).Blocks[0]
	l.nodes[path] = n
	return n
}

// unknownName reports the last of the first steps of a reference, which names
// nothing known.
func (l *loader) unknownName(t hcl.Traversal, steps int, problem string, known []string) {
	name, _ := step(t, steps-1)
	at := rangeOf(hcl.RangeBetween(t[0].SourceRange(), t[steps-1].SourceRange()))
	hint := ""
	if len(known) <= maxCompared {
		hint = diag.DidYouMean(name, known)
	}
	switch {
	case hint != "":
	case len(known) == 0:
		hint = " No file defines one."
	case len(known) <= 12:
		hint = " Known: " + strings.Join(known, ", ") + "."
	case t.RootName() == "catalog":
		kind, _ := step(t, 1)
		hint = fmt.Sprintf(" `ndc catalog %s` lists them.", kind)
	}
	l.fail(UnknownReference, at, "%s%s", problem, hint)
}

var shellName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// constants are words that other languages have for values of this one.
var constants = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"None": "null", "nil": "null", "Null": "null", "NULL": "null", "undefined": "null",
}

// called lists the references to what the module defines by a name.
func (m *module) called(name string) (references []string) {
	for _, root := range slices.Concat([]string{"var", "local"}, kinds()) {
		if m.defines(root, name) {
			references = append(references, root+"."+name)
		}
	}
	return references
}

// unknownRoot reports a reference that starts with no known word.
func (l *loader) unknownRoot(t hcl.Traversal, s scope) {
	name, at := t.RootName(), rangeOf(t[0].SourceRange())
	roots := slices.Clone(roots)
	for _, given := range slices.Sorted(maps.Keys(s.given)) {
		if !slices.Contains(roots, given) {
			roots = append(roots, given)
		}
	}
	switch {
	case len(t) == 1 && constants[name] != "":
		l.fail(UnquotedText, at, "Nothing is called %s. Write %s, or if it is text, write it in quotes: %q.", name, constants[name], strings.ToLower(name))
	case len(t) == 1 && (shellName.MatchString(name) || l.opensTemplate(t)):
		l.fail(ShellVariable, at,
			"ndc reads ${…} as an expression of its own, and nothing here is called %s. To leave the variable to the shell on the cluster, write $${%s}.", name, name)
	case len(t) == 1 && s.module != nil && len(s.module.called(name)) > 0:
		l.fail(UnquotedText, at, "Nothing is called %s alone. Did you mean %s? If it is text, write it in quotes: %q.", name, strings.Join(s.module.called(name), " or "), name)
	case len(t) == 1 && diag.Suggest(name, roots) == "":
		l.fail(UnquotedText, at, "Nothing is called %s. If it is text, write it in quotes: %q.", name, name)
	default:
		l.fail(UnknownReference, at, "References start with %s, not %q.%s", diag.OneOf(roots), name, diag.DidYouMean(name, roots))
	}
}

// opensTemplate reports whether a reference stands right behind "${", where the
// shell's variables stand too.
func (l *loader) opensTemplate(t hcl.Traversal) bool {
	r := t[0].SourceRange()
	src := l.files[r.Filename]
	return r.Start.Byte <= len(src) && bytes.HasSuffix(src[:r.Start.Byte], []byte("${"))
}

// settle evaluates a node once and reports cycles.
func (l *loader) settle(n *node, from hcl.Traversal) cty.Value {
	switch n.state {
	case done:
		return n.value
	case underway:
		l.cycle(n, from)
		return cty.DynamicVal
	}
	if len(l.stack) >= maxChain {
		if !l.has(FileTooLarge) {
			l.fail(FileTooLarge, rangeOf(from.SourceRange()), "More than %d definitions stand behind one another here, and no job needs that many.", maxChain)
		}
		return cty.DynamicVal
	}
	n.state = underway
	l.stack = append(l.stack, n)
	n.value = l.define(n)
	l.stack = l.stack[:len(l.stack)-1]
	n.state = done
	return n.value
}

// cycle reports a circle, unless a part of it has been told: of definitions
// that all refer to one another each pair is a circle.
func (l *loader) cycle(n *node, from hcl.Traversal) {
	if n.circular {
		l.stack[len(l.stack)-1].circular = true
		return
	}
	circle := l.stack[slices.Index(l.stack, n):]
	told := slices.ContainsFunc(circle, func(s *node) bool { return s.circular })
	var path []string
	for _, s := range circle {
		s.circular = true
		path = append(path, s.address())
	}
	if told {
		return
	}
	path = append(path, n.address())
	l.fail(ReferenceCycle, rangeOf(from.SourceRange()),
		"These refer to one another in a circle, so none can be evaluated first: %s. Break it at one of them.", strings.Join(path, " → "))
}

func (l *loader) define(n *node) cty.Value {
	if n.block == nil {
		v, ok := l.value(n.expr, n.scope)
		if !ok {
			return cty.DynamicVal
		}
		return v
	}
	spec := schema.File.Block(n.block.Type)
	switch n.block.Type {
	case "job":
		return opaque("job", n.address()) // evaluated when it is built, once for each element of its for_each
	case "site":
		return l.site(n)
	case "module":
		return n.scope.module.call(n)
	case "output":
		return l.output(n)
	}
	n.tree = l.based(l.evaluate(n.block, spec, n.scope))
	if n.scope.module == nil {
		n.tree.catalog = n.tree.label // of two entries in a chain, the nearer
	}
	return n.tree.object(n.address())
}

// referent finds the block that a value of a kind is; nil after a report, or
// when the value was reported before.
func (l *loader) referent(v cty.Value, kind string, at diag.Range) *node {
	if !v.IsKnown() {
		return nil
	}
	if kindOf(v.Type()) != kind {
		l.fail(WrongType, at, "%s", otherKind(v, kind))
		return nil
	}
	id := v.GetAttr(idAttribute)
	if v.IsNull() || !id.IsKnown() || id.IsNull() {
		return nil
	}
	n := l.nodes[id.AsString()]
	if n == nil || n.state != done || !n.value.RawEquals(v) {
		l.fail(ChangedObject, at, "This is a copy of %s with other values. To change a %s, write a block: %s \"NAME\" { base = %s … }.", id.AsString(), kind, kind, id.AsString())
		return nil
	}
	return n
}

func (l *loader) unknownFunction(name string, at diag.Range) {
	if why := functions.Impure(name); why != "" {
		l.fail(UnknownFunction, at, "ndc does not have %s(): %s", name, why)
		return
	}
	l.fail(UnknownFunction, at, "There is no function %q.%s", name, diag.DidYouMean(name, functions.Names()))
}
