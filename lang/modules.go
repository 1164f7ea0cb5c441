package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/schema"
)

// call is one evaluation that a module block asks for.
type call struct {
	key    string // of its element; "" without for_each and count
	module *module
}

// place is where the files of a module are.
type place struct {
	fsys fs.FS  // reads nothing outside of root
	root string // the folder that holds all that the module may read
	at   diag.Range
}

// call evaluates the folder that a module block names, once for each element.
// The value is unknown when something was reported.
func (m *module) call(n *node) cty.Value {
	b := n.block
	instances, ok := m.instances(b, n.scope)
	for _, inner := range b.Body.Blocks {
		m.unknownBlock(inner, schema.File.Block("module"))
	}
	read, at, found := m.locate(b)
	if !ok || !found {
		return cty.DynamicVal
	}
	for _, i := range instances {
		if m.modules++; m.modules == budget.MaxModules+1 {
			m.fail(FileTooLarge, rangeOf(b.DefRange()), "Modules are evaluated more than %d times here, and no job needs that many.", budget.MaxModules)
		}
		if m.modules > budget.MaxModules {
			return cty.DynamicVal
		}
		c := call{module: newModule(m.loader, read)}
		c.module.caller, c.module.place = m, at
		c.module.name, c.module.address = b.Labels[0], n.address()
		if i != nil {
			n.keyed, c.key = true, i.key
			c.module.address += elementKey(i)
		}
		s := n.scope
		s.instance = i
		fits := c.module.enter(b, s)
		n.calls = append(n.calls, c)
		if !fits {
			return cty.DynamicVal
		}
	}
	n.keyed = n.keyed || len(instances) == 0
	return cty.True
}

// elementKey is how an element is told apart in an address.
func elementKey(i *instance) string {
	if i.root == "count" {
		return "[" + i.key + "]"
	}
	return fmt.Sprintf("[%q]", i.key)
}

// enter evaluates everything in a module, which sees only itself, with the
// inputs of the block that calls it, unless it is for another version of ndc.
func (m *module) enter(b *hclsyntax.Block, s scope) bool {
	if !m.checkVersion() {
		return false
	}
	m.collect()
	m.refuseElements()
	m.setInputs(b, s)
	stack := m.stack
	m.stack = nil // nothing in it leads back to what is being evaluated outside
	m.validateVariables()
	for _, n := range m.order {
		m.settle(n, nil)
	}
	m.stack = stack
	m.checkPolicies()
	return true
}

// refuseElements reports for_each and count on jobs that nobody builds and that
// nobody can have as a base.
func (m *module) refuseElements() {
	for _, n := range m.order {
		if n.block == nil || n.block.Type != "job" {
			continue
		}
		for _, name := range []string{"for_each", "count"} {
			if a := n.block.Body.Attributes[name]; a != nil {
				m.fail(InapplicableArgument, rangeOf(a.NameRange), "The jobs of a module are not built by themselves, so %s makes none of them. Let the job that takes this one as its base say it.", name)
			}
		}
	}
}

// setInputs gives the variables of a module the arguments of its block.
func (m *module) setInputs(b *hclsyntax.Block, s scope) {
	spec := schema.File.Block("module")
	for _, a := range ordered(b.Body.Attributes) {
		if spec.Argument(a.Name) != nil {
			continue
		}
		v := m.variables[a.Name]
		if v == nil {
			m.unknownInput(a, b.Body.Attributes)
			continue
		}
		if value, ok := m.value(a.Expr, s); ok {
			m.assign(v, value, rangeOf(a.Expr.Range()))
		} else {
			v.set = true
		}
	}
	for _, name := range m.variableOrder {
		m.fallBack(m.variables[name])
	}
}

// unknownInput says which variable was meant, which then is not missing.
func (m *module) unknownInput(a *hclsyntax.Attribute, given hclsyntax.Attributes) {
	known := slices.Concat(m.variableOrder, schema.File.Block("module").ArgumentNames())
	for _, name := range diag.Nearest(a.Name, known) {
		if v := m.variables[name]; v != nil && given[name] == nil {
			v.set = true
		}
	}
	hint := diag.DidYouMean(a.Name, known)
	switch {
	case hint != "":
	case len(m.variableOrder) == 0:
		hint = " It has none."
	default:
		hint = " It has " + listed(m.variableOrder) + "."
	}
	m.fail(UnknownArgument, rangeOf(a.NameRange), "The module has no variable %q.%s", a.Name, hint)
}

// locate finds and reads the folder of a module block, once.
func (m *module) locate(b *hclsyntax.Block) (*sources, place, bool) {
	source, at, ok := m.plainText(b, "source", true)
	version, versionAt, fine := m.plainText(b, "version", false)
	if !ok || !fine {
		return nil, place{}, false
	}
	var folder, root string
	switch {
	case isRelative(source):
		if version != "" {
			m.fail(InapplicableArgument, versionAt, "\"version\" chooses among the tags of a source in git, and %s is a folder as it is. Remove it.", source)
			return nil, place{}, false
		}
		folder, root, ok = m.relative(source, at)
	case path.IsAbs(source) || strings.HasPrefix(source, "~") || strings.Contains(source, `\`) || len(source) > 1 && source[1] == ':':
		m.fail(InvalidValue, at, "%q is a place on one machine alone. Write a path relative to this file's folder, such as \"../modules/pretrain\", or a source that ndc init can fetch.", source)
		return nil, place{}, false
	default:
		folder, root, ok = m.fetched(b.Labels[0], source, version, at)
	}
	if !ok || !m.acyclic(folder, at) {
		return nil, place{}, false
	}
	fsys, err := m.place.fsys, error(nil)
	if m.caller == nil || !isRelative(source) {
		fsys, err = confined(m.fsys, root)
	}
	if err != nil {
		m.unreadableModule(root, err, at)
		return nil, place{}, false
	}
	key := root + "\x00" + folder
	if m.folders[key] == nil {
		m.folders[key] = m.readModule(fsys, folder, at)
	}
	return m.folders[key], place{fsys: fsys, root: root, at: rangeOf(b.DefRange())}, m.folders[key].ok
}

// readModule reads the folder of a module. A folder that is not there is the
// mistake of the source.
func (m *module) readModule(fsys fs.FS, folder string, at diag.Range) *sources {
	info, err := fs.Stat(fsys, folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is a file, and a module is a folder")
	}
	if err != nil {
		m.unreadableModule(folder, err, at)
		return &sources{}
	}
	return m.readFolder(fsys, folder, at)
}

func (m *module) unreadableModule(folder string, err error, at diag.Range) {
	diags := unreadable(folder, err)
	diags[0].Range = at
	m.report(diags)
}

// lacksSource says that a block names no module, and what was meant to.
func lacksSource(b *hclsyntax.Block) string {
	spec := schema.File.Block("module")
	said := fmt.Sprintf("The block module needs the argument %q. %s", "source", spec.Argument("source").Doc)
	for _, a := range ordered(b.Body.Attributes) {
		if meant(a.Name, spec) == "source" {
			said += fmt.Sprintf(" Did you mean it by %q?", a.Name)
		}
	}
	return said
}

// plainText reads an argument that must be known before anything is evaluated.
func (m *module) plainText(b *hclsyntax.Block, name string, required bool) (string, diag.Range, bool) {
	a := b.Body.Attributes[name]
	if a == nil {
		if required {
			m.fail(MissingArgument, rangeOf(b.DefRange()), "%s", lacksSource(b))
		}
		return "", diag.Range{}, !required
	}
	at := rangeOf(a.Expr.Range())
	if len(a.Expr.Variables()) > 0 {
		m.fail(InvalidValue, at, "%q is plain text: modules are found before anything is evaluated. To choose between modules, write a block for each.", name)
		return "", at, false
	}
	v, ok := m.compute(a.Expr, nil)
	if !ok {
		return "", at, false
	}
	switch {
	case v.Type() != cty.String || v.IsNull() || !v.IsKnown():
		m.fail(WrongType, at, "%q must be text, not %s.", name, describe(v))
		return "", at, false
	case v.AsString() == "":
		m.fail(MissingArgument, at, "%s", emptyText(name))
		return "", at, false
	}
	return v.AsString(), at, true
}

// emptyText says that an argument of a module block holds nothing.
func emptyText(name string) string {
	return fmt.Sprintf("%q must not be empty. %s", name, schema.File.Block("module").Argument(name).Doc)
}

// isRelative reports whether a source is a folder, by its path from that of the
// file that names it. An archive has to be unpacked first.
func isRelative(source string) bool {
	outer, _, _ := strings.Cut(source, "//")
	return !IsArchive(outer) && (source == "." || source == ".." || strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../"))
}

// relative finds the folder of a relative source, and the folder that it may
// not leave: for a module of the job's own, what stands before //, else all of
// it; for a module in a module, that of the module around it.
func (m *module) relative(source string, at diag.Range) (folder, root string, ok bool) {
	outer, inner, split := strings.Cut(source, "//")
	base := path.Join(m.folder, outer)
	if m.caller == nil {
		base = Beside(m.fsys, m.folder, outer)
	}
	folder, root = path.Join(base, inner), base
	if !within(folder, base) {
		m.fail(OutsideModule, at, "%q leads out of %q, and what stands behind // is inside of what stands before it.", inner, outer)
		return "", "", false
	}
	if m.caller == nil {
		return folder, root, true
	}
	if !within(base, m.place.root) {
		m.fail(OutsideModule, at, "%q leads out of %s, and a module reads nothing outside of its source. Where modules of one folder use one another, their users name that folder and write // before the module: source = \"…/modules//NAME\".",
			source, m.place.root)
		return "", "", false
	}
	if !split {
		root = m.place.root
	}
	return folder, root, true
}

// fetched finds the folder of a source that ndc init fetched.
func (m *module) fetched(name, source, version string, at diag.Range) (folder, root string, ok bool) {
	if m.options.Modules == nil {
		m.fail(MissingModule, at, "%q is not here yet. Run ndc init, which fetches what the module blocks name.", source)
		return "", "", false
	}
	names := []string{name}
	for c := m; c.caller != nil; c = c.caller {
		names = append(names, c.name)
	}
	slices.Reverse(names)
	folder, diags := m.options.Modules.Folder(strings.Join(names, "."), source, version, at)
	m.report(diags)
	if diags.HasErrors() {
		return "", "", false
	}
	folder = path.Clean(folder)
	root = folder
	if inner := innerFolder(source); inner != "" {
		root = strings.TrimSuffix(folder, "/"+inner)
	}
	return folder, root, true
}

// innerFolder is the folder behind // in a source that is fetched, or "".
func innerFolder(source string) string {
	source, _, _ = strings.Cut(source, "?")
	if _, rest, ok := strings.Cut(source, "://"); ok {
		source = rest
	}
	_, inner, _ := strings.Cut(source, "//")
	return strings.Trim(path.Clean("/"+inner), "/")
}

// within reports whether a clean path is root or below it.
func within(p, root string) bool {
	if root == "." {
		return p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(p)
	}
	return p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/") && !strings.HasPrefix(p, root+"/../")
}

// acyclic reports a module that would be evaluated inside itself, or too deep
// inside of others.
func (m *module) acyclic(folder string, at diag.Range) bool {
	depth, circle := 1, []string{folder}
	for c := m; c != nil; c = c.caller {
		circle = append(circle, c.folder)
		if c.folder == folder {
			slices.Reverse(circle)
			m.fail(ReferenceCycle, at, "This folder calls itself as a module, without an end: %s.", strings.Join(circle, " → "))
			return false
		}
		depth++
	}
	if depth > budget.MaxDepth+1 {
		m.fail(FileTooLarge, at, "Modules stand more than %d deep in one another here, and no job needs that.", budget.MaxDepth)
		return false
	}
	return true
}

// output evaluates an output block. Its name may not be that of a kind, by which
// the blocks of a module are read.
func (l *loader) output(n *node) cty.Value {
	name := n.block.Labels[0]
	if slices.Contains(kinds(), name) {
		l.fail(InvalidLabel, rangeOf(n.block.LabelRanges[0]), "module.NAME.%s are the blocks of that kind, so no output can be called %q.", name, name)
	}
	for _, a := range n.block.Body.Attributes {
		if a.Name == "sensitive" {
			l.sensitive(a)
			return cty.DynamicVal
		}
	}
	value := n.block.Body.Attributes["value"]
	t := l.evaluate(n.block, schema.File.Block("output"), n.scope)
	switch a := t.args["value"]; {
	case value == nil:
		l.required(t)
		return cty.DynamicVal
	case a == nil:
		return cty.NullVal(cty.DynamicPseudoType)
	default:
		return a.value
	}
}

// confined is a file system that reads what lies in a folder and nothing that
// links in it lead to, by the names of the whole one.
func confined(fsys fs.FS, root string) (fs.FS, error) {
	sub := fs.Sub
	if s, ok := fsys.(fs.SubFS); ok {
		sub = func(_ fs.FS, dir string) (fs.FS, error) { return s.Sub(dir) }
	}
	inner, err := sub(fsys, root)
	return inside{inner, root}, err
}

// inside is a file system whose names begin with the folder that it is of.
type inside struct {
	fs.FS
	root string
}

// within is the name that the file system beneath has for what is asked.
func (f inside) within(name string) (string, error) {
	switch {
	case !within(name, f.root):
		return "", &fs.PathError{Op: "open", Path: name, Err: errors.New("it lies outside of the module's source")}
	case name == f.root:
		return ".", nil
	case f.root == ".":
		return name, nil
	}
	return strings.TrimPrefix(name, strings.TrimSuffix(f.root, "/")+"/"), nil
}

// Open implements fs.FS.
func (f inside) Open(name string) (fs.File, error) {
	rel, err := f.within(name)
	if err != nil {
		return nil, err
	}
	return f.FS.Open(rel)
}

// Stat implements fs.StatFS: files of an editor may lie nowhere yet.
func (f inside) Stat(name string) (fs.FileInfo, error) {
	rel, err := f.within(name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(f.FS, rel)
}

// ReadDir implements fs.ReadDirFS, for the same reason.
func (f inside) ReadDir(name string) ([]fs.DirEntry, error) {
	rel, err := f.within(name)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(f.FS, rel)
}

// Called is a module block: the folder in which it stands, and its label.
type Called struct{ Folder, Name string }

// Defines reports whether the files define what jobs of others take from them as a module:
// models, clusters, sites, outputs, policies and the like.
func (w *Workspace) Defines() bool {
	return w.loader != nil && w.loader.root != nil && len(w.loader.root.order)+len(w.loader.root.policies) > 0
}

// Modules tells in which folders the modules were found that the jobs call, and that
// those call, as far as the files could be read.
func (w *Workspace) Modules() map[Called]string {
	found := map[Called]string{}
	if w.loader == nil { // nothing was read
		return found
	}
	for _, n := range w.loader.nodes {
		if n.block != nil && n.block.Type == "module" && len(n.block.Labels) > 0 && len(n.calls) > 0 {
			found[Called{path.Dir(n.block.DefRange().Filename), n.block.Labels[0]}] = path.Clean(n.calls[0].module.folder)
		}
	}
	return found
}
