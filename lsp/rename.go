package lsp

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/outline"
)

// requestFailed is the protocol's code of a request that is understood and refused.
const requestFailed = jrpc2.Code(-32803)

// prepareRename answers what would be renamed at a position; null where nothing is.
func (s *server) prepareRename(_ context.Context, p *positionParams) (*renamed, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	place, _ := d.place(p.Position)
	if n := s.lookup().named(d, &place); n != nil {
		return &renamed{d.text.span(place.Word.Span), n.name}, nil
	}
	return nil, nil
}

// rename answers with the changes that give something another name wherever it is
// called by it: in its folder, in the tests and the variables beside, and in the
// folders of the workspace that call it as a module.
func (s *server) rename(_ context.Context, p *renameParams) (*workspaceEdit, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	place, _ := d.place(p.Position)
	l := s.lookup()
	n := l.named(d, &place)
	if n == nil {
		return nil, jrpc2.Errorf(requestFailed, "Nothing that can be renamed stands here.")
	}
	if strings.ContainsAny(p.NewName, "\"\\$%={}#/ \t\r\n") {
		return nil, jrpc2.Errorf(requestFailed, "%q is no name.", p.NewName)
	}
	var callers map[string][]string
	files := []*source{l.file(d.path)}
	if !s.Alone {
		callers = s.callers()
		files = l.beside(n.folder)
		for _, c := range callers[n.folder] {
			files = append(files, l.beside(c)...)
		}
	}
	edits := map[*source][]change{}
	for _, f := range files {
		if list := l.calls(f, n, p.NewName); len(list) > 0 && edits[f] == nil {
			edits[f] = list
		}
	}
	if n.fetched { // by its old name: what else is wrong cannot be read by the new one
		if !word.MatchString(p.NewName) || l.define(n.folder, n.root, p.NewName) != nil {
			return nil, jrpc2.Errorf(requestFailed, "%q is no name, or that of another module.", p.NewName)
		}
	} else if wrong := l.wrong(n, p.NewName, callers, edits); wrong != nil {
		return nil, jrpc2.Errorf(requestFailed, "%s: %s", wrong.Summary, wrong.Detail)
	}
	changes := map[string][]textEdit{}
	for f, list := range edits {
		for _, e := range list {
			changes[l.uri(f.path)] = append(changes[l.uri(f.path)], textEdit{f.text.span(e.span), e.text})
		}
	}
	return &workspaceEdit{changes}, nil
}

// named is something with a name that its folder gives it.
type named struct {
	folder     string
	root, name string // as references have it: var.nodes, job.sweep
	many       bool   // a job of many, each called NAME-KEY
	fetched    bool   // a module of a repository or an archive
}

// change puts a text into the place of a stretch of a file.
type change struct {
	span outline.Span
	text string
}

// named finds what a place names; nil where that is nothing of the files, or of files
// that are not to be edited.
func (l *lookup) named(d *document, p *outline.Place) *named {
	var n *named
	folder := path.Dir(d.path)
	switch b := p.Block; {
	case p.Kind == outline.Label && b == nil:
		n = l.name(folder, rootOf(p.Header.Type.Text), p.Word.Text)
	case p.Kind == outline.ArgumentName && b != nil && b.Parent == nil && b.Type.Text == "locals":
		n = l.name(folder, "local", p.Word.Text)
	case p.Kind == outline.ArgumentName && p.Argument.Spec == nil:
		n = l.name(l.variablesOf(d.path, b), "var", p.Word.Text)
	case p.Kind == outline.Value && len(p.Steps) > 1 && p.Step > 0:
		if n = l.means(folder, p.Steps[:p.Step+1]); n != nil && l.planned(b, p.Steps[0]) {
			n = nil
		}
	}
	if n == nil || n.name != p.Word.Text || l.server.Program.FetchedFor(path.Join(n.folder, "x")) != "" {
		return nil
	}
	return n
}

// rootOf is the word by which references begin to what a block declares.
func rootOf(blockType string) string {
	if blockType == "variable" {
		return "var"
	}
	return blockType
}

// name is something that a folder declares; nil where it does not.
func (l *lookup) name(folder, root, name string) *named {
	if !slices.Contains([]string{"var", "local", "module", "output"}, root) && !slices.Contains(blockKinds, root) {
		return nil
	}
	d := l.define(folder, root, name)
	if d == nil {
		return nil
	}
	n := &named{folder: folder, root: root, name: name, many: root == "job" && d.element() != ""}
	if root == "module" {
		source, _ := d.file.outline.ValueText(d.block.Argument("source"))
		n.fetched = source != "" && !(&lang.Call{Source: source}).IsFolder()
	}
	return n
}

// variablesOf is the folder whose variables the arguments of a block name: those of a
// module block, of a test's run, and of a file of variables; "" of others.
func (l *lookup) variablesOf(file string, b *outline.Block) string {
	folder := path.Dir(file)
	switch {
	case b == nil && strings.HasSuffix(file, ".ndcvars"), b != nil && b.Type.Text == "variables" && b.Parent != nil && b.Parent.Type.Text == "run":
		return folder
	case b != nil && b.Type.Text == "module" && b.Parent == nil:
		if m := l.define(folder, "module", b.Label()); m != nil {
			return l.moduleFolder(folder, m)
		}
	}
	return ""
}

// means is what the last of some steps names.
func (l *lookup) means(folder string, steps []string) *named {
	last := steps[len(steps)-1]
	if steps[0] != "module" || len(steps) == 2 {
		if len(steps) != 2 {
			return nil
		}
		return l.name(folder, steps[0], last)
	}
	m := l.define(folder, "module", steps[1])
	if m == nil {
		return nil
	}
	behind := steps[2:]
	if m.element() != "" {
		behind = behind[1:]
	}
	switch inner := l.moduleFolder(folder, m); {
	case inner == "":
	case len(behind) == 1 && !slices.Contains(blockKinds, last):
		return l.name(inner, "output", last)
	case len(behind) == 2 && slices.Contains(blockKinds, behind[0]):
		return l.name(inner, behind[0], last)
	}
	return nil
}

// planned reports whether job is the planned one, in a condition on plans.
func (l *lookup) planned(b *outline.Block, root string) bool {
	return root == "job" && b != nil && (b.Type.Text == "policy" || b.Type.Text == "assert")
}

// beside reads all files of a folder that may call what is declared in it.
func (l *lookup) beside(folder string) []*source {
	var list []*source
	entries, _ := fs.ReadDir(l.files, folder)
	for _, e := range entries {
		d := document{path: path.Join(folder, e.Name())}
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || !d.isJob() && !d.isTest() {
			continue
		}
		if f := l.file(d.path); f != nil {
			list = append(list, f)
		}
	}
	return list
}

// calls are the places at which a file has a name, with another in it.
func (l *lookup) calls(f *source, n *named, to string) []change {
	var list []change
	folder := path.Dir(f.path)
	here := func(at *named) bool {
		return at != nil && at.folder == n.folder && at.root == n.root && at.name == n.name
	}
	arguments := func(b *outline.Block, args []*outline.Argument) {
		for _, a := range args {
			if a.Name.Text == n.name && a.Spec == nil && here(&named{folder: l.variablesOf(f.path, b), root: "var", name: n.name}) {
				list = append(list, change{a.Name.Span, to})
			}
		}
	}
	arguments(nil, f.outline.Arguments)
	f.outline.All(func(b *outline.Block) {
		switch {
		case b.Parent != nil || folder != n.folder:
		case b.Type.Text == "locals" && n.root == "local":
			if a := b.Argument(n.name); a != nil {
				list = append(list, change{a.Name.Span, to})
			}
		case rootOf(b.Type.Text) == n.root && b.Label() == n.name:
			list = append(list, change{b.Labels[0].Span, to})
		case b.Type.Text == "run":
			list = append(list, asked(f, b, n, to)...)
		}
		arguments(b, b.Arguments)
	})
	for _, r := range f.outline.References() {
		if l.planned(r.Block, r.Steps[0].Text) {
			continue
		}
		var steps []string
		for i, step := range r.Steps {
			steps = append(steps, step.Text)
			if i > 0 && step.Text == n.name && here(l.means(folder, steps)) {
				list = append(list, f.step(step.Span, to))
			}
		}
	}
	return list
}

// step puts a name into the place of a step of a reference: behind a dot, or within
// quotes and brackets.
func (f *source) step(span outline.Span, to string) change {
	if before := f.text.content[span.Start-1]; before == '.' {
		return change{outline.Span{Start: span.Start - 1, End: span.End}, access(to)}
	}
	return change{span, to}
}

// asked is where a test's run names a job or a site as text.
func asked(f *source, run *outline.Block, n *named, to string) []change {
	a := run.Argument(n.root)
	text, ok := f.outline.ValueText(a)
	if n.root != "job" && n.root != "site" || !ok || text != n.name && !(n.many && strings.HasPrefix(text, n.name+"-")) {
		return nil
	}
	start := a.Value.Start + strings.Index(f.text.content[a.Value.Start:a.Value.End], n.name)
	return []change{{outline.Span{Start: start, End: start + len(n.name)}, to}}
}

// wrong is the first error that another name would bring about, in all that its folder
// is a part of.
func (l *lookup) wrong(n *named, to string, callers map[string][]string, edits map[*source][]change) *diag.Diagnostic {
	texts := maps.Clone(l.files.documents)
	roots := callersOf(n.folder, callers)
	for f, list := range edits {
		content := f.text.content
		slices.SortFunc(list, func(a, b change) int { return b.span.Start - a.span.Start })
		for _, e := range list {
			content = content[:e.span.Start] + e.text + content[e.span.End:]
		}
		texts[f.path] = newText(content)
		if l.server.Alone {
			roots = []string{f.path}
		}
	}
	changed := l.files
	changed.documents = texts
	for _, root := range roots {
		_, before := l.server.Program.Load(l.files, root)
		_, after := l.server.Program.Load(changed, root)
		for _, d := range after {
			known := slices.ContainsFunc(before, func(b diag.Diagnostic) bool {
				return b.ID == d.ID && (b.Detail == d.Detail || strings.ReplaceAll(b.Detail, n.name, to) == d.Detail)
			})
			if d.Severity == diag.Error && !known {
				return &d
			}
		}
	}
	return nil
}
