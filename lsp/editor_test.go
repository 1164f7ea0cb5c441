package lsp

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// absolute is a file system whose names begin with a slash.
type absolute struct{ files fstest.MapFS }

func (a absolute) Open(name string) (fs.File, error) {
	if name = strings.Trim(name, "/"); name == "" {
		name = "."
	}
	return a.files.Open(name)
}

func (a absolute) Sub(dir string) (fs.FS, error) { return fs.Sub(a.files, strings.Trim(dir, "/")) }

// program is a program without backends.
type program struct {
	plan func(context.Context, *job.Job) (*plan.Plan, error)
}

func (program) Load(fsys fs.FS, name string) (*lang.Workspace, diag.List) {
	return lang.Load(fsys, name, lang.Options{})
}

func (program) Check(jobs []job.Job) diag.List {
	var diags diag.List
	for i := range jobs {
		if jobs[i].Training.Seed == 666 {
			diags.Warn("test-seed", jobs[i].Sources.Range("training.seed"), "An unlucky seed", "Take another.")
		}
	}
	return diags
}

func (p program) Plan(ctx context.Context, _ fs.FS, _ string, w *lang.Workspace, i int) (*plan.Plan, error) {
	return p.plan(ctx, &w.Jobs[i])
}

func (program) Modules(fs.FS, string) lang.Modules   { return nil }
func (program) FetchedFor(string) string             { return "" }
func (program) Real(folder string) string            { return strings.Replace(folder, "/link", "/w", 1) }
func (program) Versions(string) []string             { return []string{"core_v0.18.2", "core_v0.19.2"} }
func (program) CatalogFile(kind, name string) string { return "/cache/" + kind + "/" + name + ".hcl" }

// editor is a client that talks with a server.
type editor struct {
	*testing.T
	client    *jrpc2.Client
	published chan diagnosticsParams
	refreshed chan struct{}
	ended     chan error
}

// edit starts an editor on some files.
func edit(t *testing.T, files fstest.MapFS, o Options) *editor {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	e := &editor{T: t, published: make(chan diagnosticsParams, 1000), refreshed: make(chan struct{}, 100), ended: make(chan error, 1)}
	o.Files = absolute{files}
	if o.Program == nil {
		o.Program = program{}
	}
	go func() { e.ended <- Serve(toServer, fromServer, o) }()
	e.client = jrpc2.NewClient(channel.LSP(toClient, fromClient), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		switch r.Method() {
		case "textDocument/publishDiagnostics":
			var p diagnosticsParams
			if err := r.UnmarshalParams(&p); err != nil {
				t.Error(err)
			}
			e.published <- p
		case "window/logMessage":
			t.Error(r.ParamString())
		}
	}, OnCallback: func(_ context.Context, r *jrpc2.Request) (any, error) {
		if r.Method() != "workspace/codeLens/refresh" {
			t.Errorf("the server asks for %s", r.Method())
		}
		e.refreshed <- struct{}{}
		return nil, nil
	}})
	t.Cleanup(func() {
		e.ask("shutdown", nil, nil)
		e.tell("exit", nil)
		if err := <-e.ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		e.client.Close()
	})
	var result initializeResult
	e.ask("initialize", map[string]any{"rootUri": "file:///w", "processId": nil, "trace": "off", "capabilities": map[string]any{
		"workspace":    map[string]any{"codeLens": map[string]any{"refreshSupport": true}},
		"textDocument": map[string]any{"completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}}}}, &result)
	if result.Capabilities.TextDocumentSync.Change != 2 {
		t.Fatalf("no incremental sync: %+v", result)
	}
	e.tell("initialized", map[string]any{})
	return e
}

func (e *editor) ask(method string, params, result any) {
	e.Helper()
	if err := e.try(method, params, result); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var raw json.RawMessage
	if err := e.client.CallResult(ctx, method, params, &raw); err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

func (e *editor) tell(method string, params any) {
	e.Helper()
	if err := e.client.Notify(context.Background(), method, params); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) open(path, content string) {
	e.Helper()
	e.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uriOf(path), "languageId": "hcl", "version": 1, "text": content}})
}

func (e *editor) change(path string, version int, changes ...contentChange) {
	e.Helper()
	e.tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uriOf(path), "version": version}, "contentChanges": changes})
}

// until waits for diagnostics of a file that meet a condition.
func (e *editor) until(path string, met func([]diagnostic) bool) []diagnostic {
	e.Helper()
	late := time.After(time.Minute)
	var last []diagnostic
	for {
		select {
		case p := <-e.published:
			if p.URI == uriOf(path) {
				if last = p.Diagnostics; met(last) {
					return last
				}
			}
		case <-late:
			e.Fatalf("nothing of the kind was said of %s; last: %+v", path, last)
		}
	}
}

func clean(list []diagnostic) bool { return len(list) == 0 }

func has(code string) func([]diagnostic) bool {
	return func(list []diagnostic) bool {
		return slices.ContainsFunc(list, func(d diagnostic) bool { return d.Code == code })
	}
}

// mark is the cursor in texts of tests.
const mark = "‸"

// cursor takes the mark out of a text.
func cursor(t *testing.T, marked string) (content string, at position) {
	t.Helper()
	before, after, ok := strings.Cut(marked, mark)
	if !ok {
		t.Fatalf("no cursor in %q", marked)
	}
	content = before + after
	return content, newText(content).position(len(before))
}

func at(path string, p position) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}, "position": p}
}

func labels(list []completionItem) []string {
	names := []string{}
	for _, i := range list {
		names = append(names, i.Label)
	}
	return names
}
