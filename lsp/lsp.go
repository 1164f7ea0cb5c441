// Package lsp is a language server: it answers editors about the files of jobs
// while they are written, over the Language Server Protocol. Documents stand in
// memory, laid over a file system that it is given; what is wrong with them it
// asks package lang, what stands at a place package lang/outline, what words mean
// the tables of lang/schema and the catalogue. Backends, locks and the disk are
// the command's, behind Program. It has no rules of its own: diagnostics are
// those of `ndc validate`, formatting is that of `ndc fmt`, and predictions are
// those of `ndc plan`.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// Program is what the command does with files and jobs. Its methods are called
// from several goroutines at once.
type Program interface {
	// Load reads the jobs of a file or folder, as lang.Load.
	Load(fsys fs.FS, name string) (*lang.Workspace, diag.List)
	// Check says what the backends cannot build of jobs that have no errors.
	Check(jobs []job.Job) diag.List
	// Plan predicts w.Jobs[i] of a file or folder, with the choice that is locked
	// there. The plan is nil when there are errors; err is that of the context.
	Plan(ctx context.Context, fsys fs.FS, name string, w *lang.Workspace, i int) (p *plan.Plan, err error)
	// Modules finds what was fetched for the modules of a folder.
	Modules(fsys fs.FS, folder string) lang.Modules
	// FetchedFor is the folder of jobs for whose modules a file was fetched; "" of
	// other files.
	FetchedFor(file string) string
	// Real is the path of a folder that no links are steps of.
	Real(folder string) string
	// Versions lists the versions that a kind of backend has, newest last.
	Versions(backend string) []string
	// CatalogFile is a file with an entry of the catalogue, to be read only, by its
	// absolute path; "" where there can be none.
	CatalogFile(kind, name string) string
}

// Options are what a server is made of.
type Options struct {
	Files   fs.FS // the disk, by absolute slash paths
	Program Program
	Version string        // of this program
	Alone   bool          // each file is read alone, not with its folder
	Delay   time.Duration // from a change to looking at it; further changes begin it anew
}

// ErrNoShutdown says that the editor ended without saying so before.
var ErrNoShutdown = errors.New("the editor ended without asking for a shutdown")

// Serve talks with one editor until it ends. It returns an error when the editor
// did not say so before.
func Serve(in io.Reader, out io.WriteCloser, o Options) error {
	s := newServer(o)
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: maxRequests})
	s.rpc.Start(newBounded(in, out))
	closed := make(chan struct{})
	go func() {
		s.rpc.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-s.ended: // the editor may keep its end of the pipe open
	}
	return s.end()
}

// maxRequests is how many requests are answered at once: predictions wait, and
// nothing may wait behind them.
const maxRequests = 1 << 20

// server is the state of one conversation.
type server struct {
	Options
	rpc   *jrpc2.Server
	ended chan struct{}

	loading sync.Mutex         // one generation at a time looks at files; of the next two
	loaded  map[string]*loaded // by root
	called  *called            // nil: not known

	planning sync.Mutex // one prediction at a time; each uses all processors

	mu        sync.Mutex // of what follows
	folders   []string   // of the editor's workspace
	snippets  bool       // the editor inserts those
	refreshes bool       // the editor asks for lenses again when it is told to
	shutDown  bool
	stopped   bool
	documents map[string]*document // by path; replaced, never changed
	epoch     int                  // counts what may change files that are not open
	current   *generation
	looked    *generation            // the last one of which the editor was told
	published map[string]string      // by URI: what the editor was told last
	modules   map[lang.Called]string // the folders of modules, as they were found last
	plans     map[string]*prediction
}

func newServer(o Options) *server {
	s := &server{Options: o, ended: make(chan struct{}), loaded: map[string]*loaded{}, documents: map[string]*document{}, published: map[string]string{}, modules: map[lang.Called]string{}, plans: map[string]*prediction{}}
	s.current = newGeneration(nil)
	close(s.current.done)
	s.looked = s.current
	return s
}

func (s *server) methods() handler.Map {
	return handler.Map{
		"initialize":                      request(s, s.initialize),
		"initialized":                     request(s, func(context.Context, *nothing) (*nothing, error) { return nil, nil }),
		"shutdown":                        request(s, s.shutdown),
		"exit":                            request(s, s.exit),
		"$/cancelRequest":                 handler.New(s.cancel),
		"textDocument/didOpen":            request(s, s.didOpen),
		"textDocument/didChange":          request(s, s.didChange),
		"textDocument/didClose":           request(s, s.didClose),
		"textDocument/didSave":            request(s, s.didSave),
		"workspace/didChangeWatchedFiles": request(s, s.didChangeFiles),
		"textDocument/completion":         request(s, s.completion),
		"textDocument/hover":              request(s, s.hover),
		"textDocument/definition":         request(s, s.definition),
		"textDocument/documentSymbol":     request(s, s.symbols),
		"textDocument/prepareRename":      request(s, s.prepareRename),
		"textDocument/rename":             request(s, s.rename),
		"textDocument/formatting":         request(s, s.formatting),
		"textDocument/codeAction":         request(s, s.actions),
		"textDocument/codeLens":           request(s, s.lenses),
		"codeLens/resolve":                request(s, s.resolve),
	}
}

// request makes a handler that survives a panic: the editor is told, and the
// conversation goes on.
func request[P, R any](s *server, answer func(context.Context, *P) (R, error)) jrpc2.Handler {
	return handler.New(func(ctx context.Context, p *P) (r R, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.defect(v)
				err = jrpc2.Errorf(jrpc2.InternalError, "ndc failed where it should not: %v", v)
			}
		}()
		return answer(ctx, p)
	})
}

// defect tells the editor's log of a panic.
func (s *server) defect(v any) {
	s.notify("window/logMessage", map[string]any{"type": 1, "message": fmt.Sprintf("ndc failed where it should not: %v. Please report it.\n%s", v, debug.Stack())})
}

// notify tells the editor something. One that is gone need not hear it.
func (s *server) notify(method string, params any) {
	if s.rpc != nil {
		_ = s.rpc.Notify(context.Background(), method, params)
	}
}

// nothing is the result of what has none.
type nothing struct{}

func (s *server) initialize(_ context.Context, p *initializeParams) (*initializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range append(p.WorkspaceFolders, documentID{p.RootURI}) {
		if folder := pathOf(f.URI); folder != "" {
			s.folders = append(s.folders, folder)
		}
	}
	s.snippets = p.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport
	s.refreshes = p.Capabilities.Workspace.CodeLens.RefreshSupport
	return &initializeResult{
		Capabilities: capabilities{
			PositionEncoding:           "utf-16",
			TextDocumentSync:           syncOptions{OpenClose: true, Change: 2, Save: true},
			CompletionProvider:         completionOptions{TriggerCharacters: []string{".", `"`, "="}},
			HoverProvider:              true,
			DefinitionProvider:         true,
			DocumentSymbolProvider:     true,
			DocumentFormattingProvider: true,
			RenameProvider:             renameOptions{PrepareProvider: true},
			CodeActionProvider:         actionOptions{CodeActionKinds: []string{quickFix}},
			CodeLensProvider:           lensOptions{ResolveProvider: true},
		},
		ServerInfo: serverInfo{Name: "ndc", Version: s.Version},
	}, nil
}

func (s *server) shutdown(context.Context, *nothing) (*nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutDown = true
	s.current.cancel()
	return nil, nil
}

func (s *server) exit(context.Context, *nothing) (*nothing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		close(s.ended)
	}
	return nil, nil
}

// end stops what still runs.
func (s *server) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.cancel()
	if !s.shutDown {
		return ErrNoShutdown
	}
	return nil
}

// cancel ends a request of which the editor wants no answer any more.
func (s *server) cancel(ctx context.Context, p *struct {
	ID rawID `json:"id"`
}) error {
	jrpc2.ServerFromContext(ctx).CancelRequest(string(p.ID))
	return nil
}

// rawID is the id of a request as it was sent.
type rawID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *rawID) UnmarshalJSON(b []byte) error {
	*id = rawID(b)
	return nil
}
