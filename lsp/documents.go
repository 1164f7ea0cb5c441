package lsp

import (
	"context"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	"github.com/ndc-dev/ndc/lang/outline"
)

// document is what the editor has open, at one version. It never changes.
type document struct {
	uri, path string
	version   int
	text      *text
	outline   func() *outline.File
}

func newDocument(uri, path string, version int, t *text) *document {
	return &document{uri, path, version, t, sync.OnceValue(func() *outline.File { return outline.Read(path, []byte(t.content)) })}
}

// errUnknown says that a document was not opened.
var errUnknown = jrpc2.Errorf(jrpc2.InvalidParams, "the document is not open, or no file")

// document finds an open document.
func (s *server) document(uri string) (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[pathOf(uri)]; d != nil {
		return d, nil
	}
	return nil, errUnknown
}

func (s *server) didOpen(_ context.Context, p *openParams) (*nothing, error) {
	path := pathOf(p.TextDocument.URI)
	if path == "" {
		return nil, nil // text that lies nowhere belongs to no job
	}
	s.mu.Lock()
	s.epoch++
	s.mu.Unlock()
	s.put(newDocument(p.TextDocument.URI, path, p.TextDocument.Version, newText(p.TextDocument.Text)))
	return nil, nil
}

func (s *server) didChange(_ context.Context, p *changeParams) (*nothing, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	s.put(newDocument(d.uri, d.path, p.TextDocument.Version, d.text.changed(p.ContentChanges)))
	return nil, nil
}

func (s *server) put(d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents[d.path] = d
	s.begin()
}

func (s *server) didClose(_ context.Context, p *documentParams) (*nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.documents, pathOf(p.TextDocument.URI))
	s.epoch++
	s.begin()
	return nil, nil
}

// didSave looks anew: what is not open may have changed, too.
func (s *server) didSave(context.Context, *documentParams) (*nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.begin()
	return nil, nil
}

func (s *server) didChangeFiles(context.Context, *struct{}) (*nothing, error) {
	return s.didSave(context.Background(), nil)
}

// isJob reports whether a document is read as a part of a folder of jobs.
func (d *document) isJob() bool {
	return (strings.HasSuffix(d.path, ".hcl") || strings.HasSuffix(d.path, ".ndcvars")) && !d.isTest() && !d.isLock()
}

func (d *document) isTest() bool { return strings.HasSuffix(d.path, ".ndctest.hcl") }
func (d *document) isLock() bool { return strings.HasSuffix(d.path, "/ndc.lock.hcl") }
