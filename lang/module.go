package lang

import (
	"maps"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// module is the evaluation of one folder or file, with names of its own: of
// what was asked for, or of what a module block calls.
type module struct {
	*loader
	*sources
	caller  *module // nil where the files were asked for
	name    string  // of the block that calls it
	address string  // "" there, else such as `module.base["a"].module.inner`
	place   place

	variables     map[string]*variable
	variableOrder []string
	unread        bool    // a file of variables was reported
	order         []*node // of the files, in the order of writing
	blocks        int     // that define them, locals apart

	policies []*policy          // in the order of writing
	asserts  []*hclsyntax.Block // of the test run whose jobs these are
}

func newModule(l *loader, s *sources) *module {
	return &module{loader: l, sources: s, variables: map[string]*variable{}}
}

// scope is where the blocks of the module stand.
func (m *module) scope() scope {
	if m.caller != nil {
		return scope{origin: job.FromModule, module: m}
	}
	return scope{origin: job.FromSpec, module: m}
}

// node finds what the module calls by a path such as "local.tokens"; nil when
// there is none.
func (m *module) node(path string) *node { return m.nodes[join(m.address, path)] }

// collect sorts the blocks of all files into variables, nodes and jobs.
func (m *module) collect() {
	for _, body := range m.bodies {
		for _, a := range ordered(body.Attributes) {
			m.unknownArgument(a, &schema.File)
		}
		for _, b := range body.Blocks {
			m.collectBlock(b)
		}
	}
}

func (m *module) collectBlock(b *hclsyntax.Block) {
	spec := schema.File.Block(b.Type)
	switch {
	case spec == nil:
		m.unknownBlock(b, &schema.File)
	case b.Type == "ndc": // read before
	case b.Type == "locals":
		m.collectLocals(b)
	case !m.label(b, spec) && len(b.Labels) != 1: // a bad name still has a content to check
	case b.Type == "variable":
		m.collectVariable(b)
	case b.Type == "policy":
		m.policies = m.withPolicy(m.policies, b)
	case b.Type == "site":
		m.collectSite(b)
	default:
		m.addNode(&node{path: b.Type + "." + b.Labels[0], block: b}, b)
	}
}

func (m *module) collectLocals(b *hclsyntax.Block) {
	spec := schema.File.Block("locals")
	m.label(b, spec)
	for _, n := range b.Body.Blocks {
		m.unknownBlock(n, spec)
	}
	for _, a := range ordered(b.Body.Attributes) {
		n := &node{path: "local." + a.Name, expr: a.Expr}
		if first := m.node(n.path); first != nil {
			m.fail(DuplicateBlock, rangeOf(a.NameRange), "%q is already defined at %s:%d. Names of locals are unique over all files of a folder.",
				a.Name, first.expr.Range().Filename, first.expr.Range().Start.Line)
			continue
		}
		m.add(n)
	}
}

func (m *module) addNode(n *node, b *hclsyntax.Block) {
	if first := m.node(n.path); first != nil {
		if b.Type != "module" || !m.alike(b, first.block) {
			m.duplicateNamed(b, first.block)
		}
		return
	}
	if m.blocks++; m.blocks == maxBlocks+1 {
		m.fail(FileTooLarge, rangeOf(b.DefRange()), "There are more than %d definitions, and no job needs that many.", maxBlocks)
	}
	if m.blocks <= maxBlocks {
		m.add(n)
	}
}

func (m *module) add(n *node) {
	n.scope = m.scope()
	if n.block != nil && n.block.Type == "site" {
		n.scope.origin = job.FromSite
	}
	m.nodes[n.address()] = n
	m.order = append(m.order, n)
}

func (m *module) duplicateNamed(b, first *hclsyntax.Block) {
	at, why := first.DefRange(), "Names are unique over all files of a folder."
	if b.Type == "module" {
		why = otherCall
	}
	m.fail(DuplicateBlock, rangeOf(b.DefRange()), "%s %q is already defined at %s:%d. %s", b.Type, b.Labels[0], at.Filename, at.Start.Line, why)
}

// alike reports whether two blocks say the same, in whatever order and with whatever
// comments: what several files of a folder use, each of them may call, so that it can be
// read alone.
func (m *module) alike(a, b *hclsyntax.Block) bool {
	said := func(b *hclsyntax.Block) map[string]string {
		values := map[string]string{}
		for name, attribute := range b.Body.Attributes {
			r := attribute.Expr.Range()
			values[name] = string(hclwrite.Format(m.files[r.Filename][r.Start.Byte:r.End.Byte]))
		}
		return values
	}
	return len(a.Body.Blocks)+len(b.Body.Blocks) == 0 && maps.Equal(said(a), said(b)) // it has no blocks
}
