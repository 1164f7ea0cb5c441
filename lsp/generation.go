package lsp

import (
	"context"
	"encoding/json"
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
	epoch     int           // counts what may change files that are not open
	done      chan struct{} // closed when the files were looked at, or never will be

	lenses map[string][]lens // by path of the file, once done
	failed any               // the panic that ended it
}

func newGeneration(documents map[string]*document) *generation {
	g := &generation{documents: documents, done: make(chan struct{}), lenses: map[string][]lens{}}
	g.context, g.cancel = context.WithCancel(context.Background())
	return g
}

// overlaid are the files with documents in their place.
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
	g.epoch = s.epoch
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
	roots := l.roots()
	for _, name := range roots {
		if g.context.Err() != nil {
			return
		}
		l.load(name)
	}
	maps.DeleteFunc(s.loaded, func(name string, _ *loaded) bool { return !slices.Contains(roots, name) })
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
// What no change since touches is known.
func (l *looker) load(root string) {
	r := l.loaded[root]
	if r == nil || r.epoch != l.generation.epoch || l.touches(r, root) {
		r = &loaded{epoch: l.generation.epoch, documents: l.generation.documents}
		r.workspace, r.diags = l.Program.Load(l.lookup.files, root)
		if !r.diags.HasErrors() {
			r.diags.Append(l.Program.Check(r.workspace.Jobs))
		}
		l.loaded[root] = r
		modules := r.workspace.Modules()
		l.mu.Lock()
		maps.Copy(l.modules, modules)
		l.mu.Unlock()
	}
	if !r.diags.HasErrors() {
		l.addLenses(root, r.workspace)
	}
	l.add(root, r.diags, r.workspace.Files)
}

// loaded is what came of a root, and of which documents.
type loaded struct {
	epoch     int
	documents map[string]*document
	workspace *lang.Workspace
	diags     diag.List
}

// touches reports whether a document that is a part of a root is another than
// when it was loaded.
func (l *looker) touches(r *loaded, root string) bool {
	for name, d := range l.generation.documents {
		if _, read := r.workspace.Files[name]; r.documents[name] != d && (read || l.home(name) == root) {
			return true
		}
	}
	return false
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
	if s.refreshes && g.overtakes(s.looked) {
		go s.refresh(g.context)
	}
	s.looked = g
}

// overtakes reports whether a document that is the same as before has other
// predictions now: what they depend on has changed elsewhere.
func (g *generation) overtakes(before *generation) bool {
	for path, d := range g.documents {
		if before.documents[path] == d && !slices.Equal(before.lenses[path], g.lenses[path]) {
			return true
		}
	}
	return false
}

// refresh lets the editor ask for predictions again. Whether it does is its own
// affair.
func (s *server) refresh(ctx context.Context) {
	_, _ = s.rpc.Callback(ctx, "workspace/codeLens/refresh", nil)
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
