package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// resolveModule evaluates module.NAME.KIND.NAME or module.NAME.OUTPUT, or the
// whole of what a computed name may mean.
func (m *module) resolveModule(t hcl.Traversal, found *known) bool {
	name, literal := step(t, 1)
	n := m.node("module." + name)
	switch {
	case !literal:
		m.fail(UnknownReference, rangeOf(t.SourceRange()), "A module is read as module.NAME, with its name written out.")
		return false
	case n == nil:
		m.undefined(t, "module", fmt.Sprintf("There is no module block %q.", name))
		return false
	}
	found = found.at("module", name)
	if m.settle(n, t).IsWhollyKnown() {
		return m.resolveElement(n, t, found)
	}
	found.value = cty.DynamicVal // what is wrong with it was reported
	return true
}

// resolveElement goes on behind module.NAME.
func (m *module) resolveElement(n *node, t hcl.Traversal, found *known) bool {
	if !n.keyed {
		return n.calls[0].module.resolveMember(t, 2, found)
	}
	key, literal := elementStep(t, 2)
	if !literal {
		if !m.payFor(t, len(n.calls)) {
			return false
		}
		found.value = allElements(n)
		return true
	}
	i := slices.IndexFunc(n.calls, func(c call) bool { return c.key == key })
	if i < 0 {
		var known []string
		for _, c := range n.calls {
			known = append(known, c.key)
		}
		m.unknownName(t, 3, fmt.Sprintf("%s has no element %q.", n.address(), key), known)
		return false
	}
	return n.calls[i].module.resolveMember(t, 3, found.at(key))
}

// allElements is all that the elements of a module give: by key, or in a row
// with count.
func allElements(n *node) cty.Value {
	list, byKey := make([]cty.Value, len(n.calls)), map[string]cty.Value{}
	for i, c := range n.calls {
		list[i] = c.module.object()
		byKey[c.key] = list[i]
	}
	if n.block.Body.Attributes["count"] != nil {
		return cty.TupleVal(list)
	}
	return cty.ObjectVal(byKey)
}

// elementStep returns the literal key at position i of a reference, which may be
// the number of an element.
func elementStep(t hcl.Traversal, i int) (string, bool) {
	if i < len(t) {
		if s, ok := t[i].(hcl.TraverseIndex); ok && s.Key.Type() == cty.Number && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsBigFloat().Text('f', -1), true
		}
	}
	return step(t, i)
}

// resolveMember evaluates what a module gives under the name at position i.
func (m *module) resolveMember(t hcl.Traversal, i int, found *known) bool {
	name, literal := step(t, i)
	switch {
	case !literal:
		found.value = m.object()
		return m.payFor(t, len(m.order))
	case slices.Contains(kinds(), name):
		return m.resolveBlock(name, t, i+1, found.at(name))
	case m.node("output."+name) == nil:
		m.unknownName(t, i+1, fmt.Sprintf("%s has no output %q.", m.address, name), slices.Concat(m.names("output"), kinds()))
		return false
	}
	found.at(name).value = m.member("output", name, t)
	return true // its type is not fixed
}

// resolveBlock evaluates the block of a kind with the name at position i, or
// all of the kind.
func (m *module) resolveBlock(kind string, t hcl.Traversal, i int, found *known) bool {
	name, literal := step(t, i)
	if !literal {
		for _, name := range m.names(kind) {
			found.at(name).value = m.member(kind, name, t)
		}
		return m.payFor(t, len(m.order))
	}
	if !m.defines(kind, name) {
		m.unknownName(t, i+1, fmt.Sprintf("%s has no %s block %q.", m.address, kind, name), m.names(kind))
		return false
	}
	v := m.member(kind, name, t)
	found.at(name).value = v
	return m.checkAttributes(t, i+1, v.Type())
}

// object is everything that a module gives.
func (m *module) object() cty.Value {
	all := &known{}
	for _, kind := range kinds() {
		for _, name := range m.names(kind) {
			all.put(m.member(kind, name, nil), kind, name)
		}
	}
	for _, name := range m.names("output") {
		all.put(m.member("output", name, nil), name)
	}
	return all.object()
}

// payFor takes from the budget for many values at once.
func (l *loader) payFor(t hcl.Traversal, units int) bool {
	if l.budget.Pay(units) {
		return true
	}
	l.overspent(rangeOf(t.SourceRange()))
	return false
}
