package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// collectSite keeps a site apart from its policies, which are evaluated for each
// plan, and from its templates, which name files.
func (m *module) collectSite(b *hclsyntax.Block) {
	n := &node{path: "site." + b.Labels[0]}
	bare, body := *b, *b.Body
	body.Blocks = nil
	for _, inner := range b.Body.Blocks {
		switch {
		case inner.Type == "templates":
			n.templates.blocks = append(n.templates.blocks, inner)
		case inner.Type != "policy":
			body.Blocks = append(body.Blocks, inner)
		case m.label(inner, schema.File.Block("policy")):
			n.policies = m.withPolicy(n.policies, inner)
		}
	}
	bare.Body, n.block = &body, &bare
	m.addNode(n, b)
}

// site evaluates a site block.
func (l *loader) site(n *node) cty.Value {
	n.tree = l.evaluate(n.block, schema.File.Block("site"), n.scope)
	l.readTemplates(n)
	if v := n.tree.args["values"]; v != nil && !v.bad && (isKind(v.value.Type()) || !v.value.Type().IsObjectType() && !v.value.Type().IsMapType()) {
		l.fail(WrongType, v.source.Range, "\"values\" must be a map in braces, of which jobs read each entry as here.NAME, not %s.", describe(v.value))
	}
	if slurm := n.tree.find("slurm"); slurm != nil {
		l.saidTwice(n.tree, slurm)
	}
	return opaque("site", n.address())
}

// saidTwice reports what a site says beside its slurm block and in it.
func (l *loader) saidTwice(site, slurm *block) {
	const why = "%q stands in the slurm block of this site too, and both mean the same. Keep one."
	if a := site.args["environment"]; a != nil && slurm.has("environment") {
		l.fail(ConflictingArguments, a.source.Range, why, "environment")
	}
	for _, name := range []string{"container", "node_check"} {
		if b := site.find(name); b != nil && slurm.find(name) != nil {
			l.fail(ConflictingArguments, b.header, why, name)
		}
	}
}

// askedSites are the sites that the command line names; nil alone when it names
// none, so that each job's own counts.
func (m *module) askedSites() []*node {
	if len(m.options.Sites) == 0 {
		return []*node{nil}
	}
	var list []*node
	for _, name := range m.options.Sites {
		n := m.findSite(name)
		if n == nil || slices.Contains(list, n) {
			continue
		}
		for _, other := range list {
			if other.block.Labels[0] == n.block.Labels[0] {
				m.fail(UnknownSite, m.askedAt("site"), "%s and %s are both called %q, and the files of both would go to the folder of that name. Build for one after the other, with -o.", other.address(), n.address(), n.block.Labels[0])
			}
		}
		list = append(list, n)
	}
	m.severalSites = len(list) > 1
	return list
}

// isSite reports whether a site has a name: its label or its address.
func (n *node) isSite(name string) bool { return n.block.Labels[0] == name || n.address() == name }

// HasSite reports whether the files, or a module that they call, have a site of a
// name, by label or address. With files that could not be read it has none.
func (w *Workspace) HasSite(name string) bool {
	return w.loader != nil && w.loader.root != nil &&
		slices.ContainsFunc(w.loader.root.sites(), func(n *node) bool { return n.isSite(name) })
}

// findSite finds the one site of a name, or of an address, in the files and in
// the modules that they call; nil after a report.
func (m *module) findSite(name string) *node {
	var found []*node
	var labels, addresses []string
	for _, n := range m.sites() {
		labels = append(labels, n.block.Labels[0])
		if n.isSite(name) {
			found = append(found, n)
			addresses = append(addresses, n.address())
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		m.fail(UnknownSite, m.askedAt("site"), "More than one site is called %q. Ask for one of %s.", name, strings.Join(addresses, ", "))
	case len(labels) == 0:
		m.fail(UnknownSite, m.askedAt("site"), "There is no site %q, and no other. A block site \"%s\" { … } here or in a module makes one.", name, name)
	default:
		hint := diag.DidYouMean(name, labels)
		if hint == "" {
			hint = " The sites are " + listed(labels) + "."
		}
		m.fail(UnknownSite, m.askedAt("site"), "There is no site %q.%s", name, hint)
	}
	return nil
}

// sites lists the sites of a module and of those that it calls. The modules of
// those are their own affair.
func (m *module) sites() []*node {
	var list []*node
	add := func(m *module) {
		for _, n := range m.order {
			if n.block != nil && n.block.Type == "site" {
				list = append(list, n)
			}
		}
	}
	add(m)
	for _, n := range m.order {
		for _, c := range n.calls {
			add(c.module)
		}
	}
	return list
}

// siteOf finds the site that a job names, or that its base does; nil when
// there is none. It is known before the rest of the job, which may read it.
func (l *loader) siteOf(n *node, s scope, above []*node) *node {
	attributes := n.block.Body.Attributes
	if a := attributes["site"]; a != nil {
		if v, ok := l.value(a.Expr, s); !ok || !v.IsNull() {
			return l.siteAt(v, rangeOf(a.Expr.Range()))
		}
	}
	spec := schema.File.Block("job")
	for name := range attributes {
		if word := meant(name, spec); spec.Argument(name) == nil && (word == "site" || word == "base") {
			return unknownSite() // reported as a misspelt word
		}
	}
	a := attributes["base"]
	if a == nil || slices.Contains(above, n) || len(above) >= maxChain {
		return nil
	}
	v, ok := l.value(a.Expr, s)
	if !ok || kindOf(v.Type()) != "job" {
		return nil
	}
	base := l.referent(v, "job", rangeOf(a.Expr.Range()))
	if base == nil {
		return nil
	}
	at, known := l.siteOfBase[base]
	if !known {
		at = l.siteOf(base, base.scope, append(slices.Clone(above), n))
		l.siteOfBase[base] = at
	}
	return at
}

// siteAt is the site that a value names, or, after a report, one of which
// nothing is known.
func (l *loader) siteAt(v cty.Value, at diag.Range) *node {
	if n := l.referent(v, "site", at); n != nil {
		return n
	}
	return unknownSite()
}

// unknownSite is a site of which nothing is known.
func unknownSite() *node {
	return &node{tree: &block{spec: schema.File.Block("site"), broken: true, args: map[string]*argument{"values": {bad: true}}}}
}

// resolveHere reads a value of the site of the job around an expression.
func (l *loader) resolveHere(t hcl.Traversal, s scope, found *known) bool {
	if s.site == nil {
		l.fail(UnknownReference, rangeOf(t.SourceRange()), "\"here\" is what a site gives the jobs on it, so it is read inside of a job that has one: site = site.NAME, or --site NAME.")
		return false
	}
	values := cty.EmptyObjectVal
	if a := s.site.tree.args["values"]; a != nil {
		if a.bad || isKind(a.value.Type()) || !a.value.CanIterateElements() {
			found.put(cty.DynamicVal, "here")
			return true // reported at the site
		}
		values = a.value
	}
	if name, literal := step(t, 1); literal && !values.Type().IsMapType() && !values.Type().HasAttribute(name) {
		known := slices.Sorted(maps.Keys(values.Type().AttributeTypes()))
		if len(known) == 0 {
			l.fail(UnknownReference, rangeOf(t.SourceRange()), "%s has no values. Its block gives them: values = { %s = … }.", s.site.address(), name)
			return false
		}
		l.unknownName(t, 2, fmt.Sprintf("The values of %s have no %q.", s.site.address(), name), known)
		return false
	}
	found.put(values, "here")
	return true
}

// under lays a job, as far as a backend of a kind sees it, over what its site
// says.
func (n *node) under(t *block, kind string) *block {
	if n == nil {
		return t
	}
	site := n.tree
	slurm := &block{spec: t.spec.Block("slurm"), header: site.header, at: site.at, origin: site.origin, args: map[string]*argument{}}
	if a := site.args["environment"]; a != nil {
		slurm.args["environment"] = a
	}
	for _, name := range []string{"container", "node_check"} {
		if b := site.find(name); b != nil {
			slurm.blocks = append(slurm.blocks, b)
		}
	}
	slurm = merge(site.find("slurm"), slurm, adding)
	for _, b := range site.all("backend") {
		if c := b.find("container"); b.label == kind && c != nil {
			slurm = merge(slurm, &block{spec: slurm.spec, header: b.header, at: b.at, origin: b.origin, blocks: []*block{c}, broken: c.broken}, adding)
		}
	}
	below := &block{spec: t.spec, args: map[string]*argument{}, blocks: []*block{slurm}, partial: site.broken}
	if a := site.args["cluster"]; a != nil {
		below.args["cluster"] = a
	}
	if len(slurm.args)+len(slurm.blocks) == 0 {
		below.blocks = nil
	}
	return merge(below, t, adding)
}

// underBackend lays a backend block over that of the site.
func (n *node) underBackend(b *block) *block {
	if n == nil {
		return b
	}
	for _, s := range n.tree.all("backend") {
		if a := s.args["path"]; s.label == b.label && a != nil {
			below := *b
			below.args = maps.Clone(b.args)
			if below.args["path"] == nil {
				below.args["path"] = a
			}
			return &below
		}
	}
	return b
}

// owned returns a copy of a tree as the site's: what it is made of was chosen
// with the site. What the catalogue says stays the catalogue's.
func (b *block) owned() *block {
	c := *b
	own := func(s job.Source) job.Source {
		if s.Origin != job.FromCatalog {
			s.Origin = job.FromSite
		}
		return s
	}
	if c.origin != job.FromCatalog {
		c.origin = job.FromSite
	}
	c.args = make(map[string]*argument, len(b.args))
	for name, a := range b.args {
		placed := *a
		placed.source = own(a.source)
		placed.parts = map[string]job.Source{}
		for key, part := range a.parts {
			placed.parts[key] = own(part)
		}
		c.args[name] = &placed
	}
	c.blocks = make([]*block, len(b.blocks))
	for i, n := range b.blocks {
		c.blocks[i] = n.owned()
	}
	return &c
}
