package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// uses finds the modules that something takes anything from, by following what
// is written: of a module that is used, those inside of it count too.
type uses struct {
	nodes   map[*node]bool
	modules []*module
}

// usedBy are the modules that a job takes anything from, and its site, nil for
// none, in the order of finding. The module of the site is one of them.
func usedBy(job, site *node) []*module {
	u := &uses{nodes: map[*node]bool{}}
	u.node(job)
	u.site(site)
	return u.modules
}

// site adds what a site is made of, and the module that it is of; nothing for none.
func (u *uses) site(n *node) {
	if n == nil || n.scope.module == nil {
		return
	}
	if m := n.scope.module; m.caller != nil {
		u.calls(m.caller.node("module."+m.name), func(c call) bool { return c.module == m })
	}
	u.node(n)
}

func (u *uses) node(n *node) {
	if n == nil || u.nodes[n] || n.scope.module == nil {
		return
	}
	u.nodes[n] = true
	if n.expr != nil {
		u.expression(n.expr, n.scope.module)
	}
	if n.block != nil && n.block.Type != "module" {
		u.body(n.block.Body, n.scope.module)
	}
}

func (u *uses) body(b *hclsyntax.Body, m *module) {
	for _, a := range ordered(b.Attributes) {
		u.expression(a.Expr, m)
	}
	for _, inner := range b.Blocks {
		u.body(inner.Body, m)
	}
}

func (u *uses) expression(e hclsyntax.Expression, m *module) {
	for _, t := range e.Variables() {
		u.traversal(t, m)
	}
}

func (u *uses) traversal(t hcl.Traversal, m *module) {
	root := t.RootName()
	name, literal := step(t, 1)
	switch {
	case root == "var" || root == "catalog":
	case root == "module":
		if n := m.node("module." + name); n != nil {
			key, keyed := elementStep(t, 2)
			u.calls(n, func(c call) bool { return !n.keyed || !keyed || c.key == key })
		}
	case literal:
		u.node(m.node(root + "." + name))
	default:
		for _, name := range m.names(root) {
			u.node(m.node(root + "." + name))
		}
	}
}

// calls adds the modules of a module block and those inside of them. What the
// block gives them as inputs is used with them.
func (u *uses) calls(n *node, which func(call) bool) {
	if !u.nodes[n] {
		u.nodes[n] = true
		u.body(n.block.Body, n.scope.module)
	}
	for _, c := range n.calls {
		if !which(c) || slices.Contains(u.modules, c.module) {
			continue
		}
		u.modules = append(u.modules, c.module)
		for _, inner := range c.module.order {
			if inner.block != nil && inner.block.Type == "module" {
				u.calls(inner, func(call) bool { return true })
			}
		}
	}
}
