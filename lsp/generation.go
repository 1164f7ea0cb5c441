package lsp

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
)

// generation is what there is to say about the documents between two changes of
// them.
type generation struct {
	documents map[string]*document // as they were at its beginning
	context   context.Context      // ends with the next change
	cancel    context.CancelFunc
	done      chan struct{} // closed when the files were looked at, or never will be

	lenses map[string][]lens // by path of the file, once done
	failed any               // the panic that ended it
}

func newGeneration(documents map[string]*document) *generation {
	g := &generation{documents: documents, done: make(chan struct{}), lenses: map[string][]lens{}}
	g.context, g.cancel = context.WithCancel(context.Background())
	return g
}

// files are the files as this generation sees them.
func (s *server) overlaid(documents map[string]*document) overlay {
	texts := map[string]*text{}
	for p, d := range documents {
		texts[p] = d.text
	}
	return overlay{files: s.Files, documents: texts}
}

// begin ends the current generation and lets the next one begin after the
// delay. The caller holds the lock.
func (s *server) begin() {
	s.current.cancel()
	g := newGeneration(maps.Clone(s.documents))
	s.current = g
	time.AfterFunc(s.Delay, func() { s.look(g) })
}

// look loads what the documents are part of, tells the editor what is wrong, and
// notes which predictions can be asked for.
func (s *server) look(g *generation) {
	s.loading.Lock()
	defer s.loading.Unlock()
	defer close(g.done)
	defer func() {
		if g.failed = recover(); g.failed != nil {
			s.defect(g.failed)
		}
	}()
	if g.context.Err() != nil {
		return
	}
	l := &looker{server: s, lookup: s.lookupIn(g.documents), generation: g, found: map[string][]diagnostic{}}
	for _, name := range l.roots() {
		if g.context.Err() != nil {
			return
		}
		l.load(name)
	}
	l.tests()
	s.publish(g, l.found)
}

// looker is the work of one generation.
type looker struct {
	*server
	*lookup
	generation *generation
	found      map[string][]diagnostic // by path
}

// load reads a root, and checks its jobs where there is nothing wrong with it.
func (l *looker) load(root string) {
	w, diags := l.Program.Load(l.files, root)
	if !diags.HasErrors() {
		diags.Append(l.Program.Check(w.Jobs))
	}
	if !diags.HasErrors() {
		l.addLenses(root, w)
	}
	l.add(root, diags, w.Files)
}

// tests reads the files of tests that are open.
func (l *looker) tests() {
	for _, d := range sorted(l.generation.documents) {
		if d.isTest() {
			t, diags := lang.LoadTests(l.files, d.path)
			l.add(d.path, diags, t.Files)
		}
	}
}

// add files diagnostics under the files that they are about. What has no place
// is told at the beginning of the documents of its root.
func (l *looker) add(root string, list diag.List, files map[string][]byte) {
	texts := map[string]*text{}
	for _, d := range list {
		where := []string{path.Clean(d.Range.Filename)}
		if d.Range.IsZero() {
			where = l.documentsOf(root)
		}
		for _, name := range where {
			if texts[name] == nil {
				texts[name] = newText(string(files[name]))
			}
			found := shown(&d, texts[name])
			if !slices.Contains(l.found[name], found) {
				l.found[name] = append(l.found[name], found)
			}
		}
	}
}

func (l *looker) documentsOf(root string) []string {
	var list []string
	for _, d := range sorted(l.generation.documents) {
		if d.path == root || path.Dir(d.path) == root {
			list = append(list, d.path)
		}
	}
	return list
}

func shown(d *diag.Diagnostic, t *text) diagnostic {
	severity := 1
	if d.Severity == diag.Warning {
		severity = 2
	}
	return diagnostic{Range: t.rangeOf(d.Range), Severity: severity, Code: string(d.ID), Source: "ndc", Message: d.Summary + ": " + d.Detail}
}

// publish tells the editor what changed of what it was told.
func (s *server) publish(g *generation, found map[string][]diagnostic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return
	}
	params := map[string]*diagnosticsParams{}
	for uri := range s.published {
		params[uri] = &diagnosticsParams{URI: uri, Diagnostics: []diagnostic{}}
	}
	for _, d := range g.documents {
		params[d.uri] = &diagnosticsParams{URI: d.uri, Version: &d.version, Diagnostics: []diagnostic{}}
	}
	for name, list := range found {
		uri := uriOf(name)
		if d := g.documents[name]; d != nil {
			uri = d.uri
		}
		if params[uri] == nil {
			params[uri] = &diagnosticsParams{URI: uri}
		}
		params[uri].Diagnostics = list
	}
	for _, uri := range slices.Sorted(maps.Keys(params)) {
		s.tell(params[uri], g.documents[pathOf(uri)] != nil)
	}
}

// tell publishes the diagnostics of one file, unless the editor knows them.
func (s *server) tell(p *diagnosticsParams, open bool) {
	b, err := json.Marshal(p)
	if err != nil {
		panic("lsp: diagnostics that JSON cannot hold: " + err.Error())
	}
	if s.published[p.URI] == string(b) {
		return
	}
	s.published[p.URI] = string(b)
	if len(p.Diagnostics) == 0 && !open {
		delete(s.published, p.URI)
	}
	s.notify("textDocument/publishDiagnostics", p)
}

func sorted(documents map[string]*document) []*document {
	return slices.SortedFunc(maps.Values(documents), func(a, b *document) int { return strings.Compare(a.path, b.path) })
}

// roots are the folders, or files, of which the open documents are parts: those
// that no other folder of the workspace calls as a module.
func (l *looker) roots() []string {
	var list []string
	var callers map[string][]string
	for _, d := range sorted(l.generation.documents) {
		switch {
		case !d.isJob() || l.isCatalog(d):
			continue
		case l.Alone && strings.HasSuffix(d.path, ".hcl"):
			list = append(list, d.path)
			continue
		case callers == nil:
			callers = l.callers()
		}
		list = append(list, callersOf(path.Dir(d.path), callers)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// callersOf walks from a folder to those that call it and that nobody calls.
func callersOf(folder string, callers map[string][]string) []string {
	var roots []string
	seen, waiting := map[string]bool{folder: true}, []string{folder}
	for len(waiting) > 0 {
		f := waiting[0]
		waiting = waiting[1:]
		if len(callers[f]) == 0 {
			roots = append(roots, f)
		}
		for _, c := range callers[f] {
			if !seen[c] {
				seen[c] = true
				waiting = append(waiting, c)
			}
		}
	}
	if len(roots) == 0 {
		return []string{folder} // they call one another in a circle
	}
	return roots
}

// Bounds on the search for callers in the folders of the editor.
const (
	maxFolders = 2000
	maxDepth   = 8
)

// callers maps the folders that are modules to the folders that call them.
func (l *looker) callers() map[string][]string {
	callers := map[string][]string{}
	seen := map[string]bool{}
	note := func(folder string) {
		if seen[folder] {
			return
		}
		seen[folder] = true
		calls, _ := lang.Calls(l.files, folder) // what is wrong is told where it is loaded
		for _, c := range calls {
			if c.IsFolder() {
				inner, _ := c.Folder(folder)
				if !slices.Contains(callers[inner], folder) {
					callers[inner] = append(callers[inner], folder)
				}
			}
		}
	}
	for _, d := range sorted(l.generation.documents) {
		note(path.Dir(d.path))
	}
	left := maxFolders
	for _, f := range l.workspace() {
		l.walk(f, maxDepth, &left, note)
	}
	return callers
}

func (l *looker) workspace() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.folders
}

// walk visits the folders with jobs below one.
func (l *looker) walk(folder string, depth int, left *int, visit func(string)) {
	if *left--; *left < 0 || depth < 0 || l.generation.context.Err() != nil {
		return
	}
	entries, err := fs.ReadDir(l.files, folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			l.walk(path.Join(folder, name), depth-1, left, visit)
		case strings.HasSuffix(name, ".hcl"):
			visit(folder)
		}
	}
}
