package lsp

import (
	"slices"

	"github.com/ndc-dev/ndc/lang/catalog"
	"github.com/ndc-dev/ndc/lang/outline"
	"github.com/ndc-dev/ndc/lang/schema"
)

// meaning is what the first steps of a reference lead to.
type meaning struct {
	definition *definition   // of a block, a variable, a local or an output
	kind, name string        // of an entry of the catalogue
	spec       *schema.Block // what the steps behind are members of
	argument   *schema.Argument
	steps      int // how many steps it took
}

// blockKinds are the kinds of blocks that references name.
var blockKinds = []string{"model", "cluster", "gpu", "job", "site"}

// resolve follows a reference as far as it is known, from a file of a folder.
func (l *lookup) resolve(folder string, steps []string) *meaning {
	if len(steps) < 2 {
		return nil
	}
	root, name := steps[0], steps[1]
	switch {
	case root == "catalog":
		return l.resolveCatalog(steps)
	case root == "module":
		return l.resolveModule(folder, steps)
	case root == "var" || root == "local" || slices.Contains(blockKinds, root):
		return l.resolveBlock(folder, root, name, steps, 2)
	}
	return nil
}

func (l *lookup) resolveBlock(folder, kind, name string, steps []string, taken int) *meaning {
	d := l.define(folder, kind, name)
	if d == nil {
		return nil
	}
	m := &meaning{definition: d, steps: taken}
	if slices.Contains(schema.Kinds(), kind) {
		m.spec = schema.File.Block(kind)
	}
	return m.follow(steps)
}

func (l *lookup) resolveCatalog(steps []string) *meaning {
	if len(steps) < 3 || catalog.Source(steps[1], steps[2]) == nil {
		return nil
	}
	m := &meaning{kind: steps[1], name: steps[2], spec: schema.File.Block(steps[1]), steps: 3}
	return m.follow(steps)
}

// resolveModule follows module.NAME, an element of it, and what it gives.
func (l *lookup) resolveModule(folder string, steps []string) *meaning {
	d := l.define(folder, "module", steps[1])
	if d == nil {
		return nil
	}
	m := &meaning{definition: d, steps: 2}
	i := 2
	if d.element() != "" {
		i++
	}
	inner := l.moduleFolder(folder, d)
	if i >= len(steps) || inner == "" {
		return m
	}
	if !slices.Contains(blockKinds, steps[i]) {
		if given := l.resolveBlock(inner, "output", steps[i], steps, i+1); given != nil {
			return given
		}
		return m
	}
	if i+1 < len(steps) {
		if given := l.resolveBlock(inner, steps[i], steps[i+1], steps, i+2); given != nil {
			return given
		}
	}
	return m
}

// follow goes on to members: arguments and blocks by the tables.
func (m *meaning) follow(steps []string) *meaning {
	for m.spec != nil && m.steps < len(steps) {
		name := steps[m.steps]
		if b := m.spec.Block(name); b != nil {
			m.spec = b
			m.steps++
			continue
		}
		a := m.spec.Argument(name)
		if a == nil {
			return m
		}
		m.steps++
		m.argument = a
		m.spec = nil
		switch a.Type {
		case schema.GPURef:
			m.spec = schema.File.Block("gpu")
		case schema.ModelRef:
			m.spec = schema.File.Block("model")
		case schema.ClusterRef:
			m.spec = schema.File.Block("cluster")
		}
	}
	return m
}

// place is what stands at a position of a document.
func (d *document) place(p position) (outline.Place, int) {
	at := d.text.offset(p)
	return d.outline().At(at), at
}
