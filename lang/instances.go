package lang

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
)

// instance is one element of a for_each or a count.
type instance struct {
	root  string     // "each" or "count": what expressions read it by
	key   string     // as it stands in names
	value cty.Value  // of root: an object of key and value, or of index
	at    diag.Range // of the for_each or count
}

// instances lists what for_each or count make of a block; a nil instance alone
// when it has neither. It returns false when something was reported.
func (l *loader) instances(b *hclsyntax.Block, s scope) (list []*instance, ok bool) {
	each, count := b.Body.Attributes["for_each"], b.Body.Attributes["count"]
	switch {
	case each != nil && count != nil:
		l.fail(ConflictingArguments, rangeOf(count.NameRange), "Either \"for_each\" or \"count\" says how many there are, not both. Remove one.")
		return nil, false
	case each != nil:
		list, ok = l.forEach(each, s)
	case count != nil:
		list, ok = l.counted(count, s)
	default:
		return []*instance{nil}, true
	}
	if ok && !l.budget.Pay(len(list)*elementUnits) {
		l.overspent(rangeOf(b.DefRange()))
		return nil, false
	}
	return list, ok
}

// elementUnits is what an element costs beside its expressions: names and places
// of a job, of which a workspace cannot have any number.
const elementUnits = 64

func (l *loader) forEach(a *hclsyntax.Attribute, s scope) ([]*instance, bool) {
	at := rangeOf(a.Expr.Range())
	v, ok := l.value(a.Expr, s)
	if !ok || !v.IsWhollyKnown() {
		return nil, false
	}
	t := v.Type()
	ofText := t.IsSetType() && (t.ElementType() == cty.String || t.ElementType() == cty.DynamicPseudoType) // that of toset([])
	switch {
	case v.IsNull() || isKind(t) || !t.IsMapType() && !t.IsObjectType() && !ofText:
		l.fail(WrongType, at, "for_each takes a map, of which each entry makes one, or a set of text, such as toset([\"a\", \"b\"]); not %s.", describe(v))
		return nil, false
	case v.LengthInt() > budget.MaxElements:
		l.fail(FileTooLarge, at, "%d elements; for_each takes at most %d.", v.LengthInt(), budget.MaxElements)
		return nil, false
	}
	var list []*instance
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if ofText {
			key = value
		}
		if key.IsNull() {
			l.fail(WrongType, at, "A set for for_each holds text, not null.")
			return nil, false
		}
		list = append(list, &instance{root: "each", key: key.AsString(), at: at,
			value: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})})
	}
	return list, true
}

func (l *loader) counted(a *hclsyntax.Attribute, s scope) ([]*instance, bool) {
	at := rangeOf(a.Expr.Range())
	v, ok := l.value(a.Expr, s)
	if !ok || !v.IsWhollyKnown() {
		return nil, false
	}
	n, isNumber := asNumber(v)
	if isKind(v.Type()) || !isNumber || !n.IsInt() || n.Sign() < 0 {
		l.fail(WrongType, at, "count takes a whole number, not %s.", describe(v))
		return nil, false
	}
	size, _ := n.Int64()
	if size > budget.MaxElements {
		l.fail(FileTooLarge, at, "count is %s; it is at most %d.", n.Text('f', 0), budget.MaxElements)
		return nil, false
	}
	var list []*instance
	for i := range size {
		list = append(list, &instance{root: "count", key: fmt.Sprint(i), at: at,
			value: cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(i)})})
	}
	return list, true
}

// withoutRepetition is a block without for_each and count, which were evaluated
// for all elements at once.
func withoutRepetition(b *hclsyntax.Block) *hclsyntax.Block {
	if b.Body.Attributes["for_each"] == nil && b.Body.Attributes["count"] == nil {
		return b
	}
	one, body := *b, *b.Body
	body.Attributes = maps.Clone(body.Attributes)
	delete(body.Attributes, "for_each")
	delete(body.Attributes, "count")
	one.Body = &body
	return &one
}

// resolveInstance reads each.key, each.value or count.index.
func (l *loader) resolveInstance(t hcl.Traversal, s scope, found *known) bool {
	root := t.RootName()
	if s.instance == nil || s.instance.root != root {
		argument := map[string]string{"each": "for_each", "count": "count"}[root]
		l.fail(UnknownReference, rangeOf(t.SourceRange()), "%q is what one element of %s has, and the block around this has no %s.", root, argument, argument)
		return false
	}
	if len(t) > 1 && !l.checkAttributes(t[:2], 1, s.instance.value.Type()) {
		return false
	}
	found.put(s.instance.value, root)
	return true
}
