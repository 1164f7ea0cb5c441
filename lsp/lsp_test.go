package lsp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/lang/job"
)

// sample is a job without mistakes.
const sample = `model "small" {
  base = catalog.model.llama3_8b
}

cluster "h100" {
  base  = catalog.cluster.dgx_h100
  nodes = 4
}

job "demo" {
  model   = model.small
  cluster = cluster.h100

  training {
    global_batch_size = 512
    steps             = 1000

    optimizer "adamw" {
      learning_rate = 3e-4
    }
    data {
      mock = true
    }
  }
  backend "megatron" {
    version = "core_v0.18.2"
  }
  slurm {
    account   = "llm"
    partition = "h100"
    time      = "1:00:00"
  }
}
`

const jobFile = "/w/job.hcl"

func replaced(t *testing.T, old, new string) string {
	t.Helper()
	if !strings.Contains(sample, old) {
		t.Fatalf("the sample has no %q", old)
	}
	return strings.Replace(sample, old, new, 1)
}

// TestDiagnostics: faults are told at the characters that an editor counts, and go when they are
// mended.
func TestDiagnostics(t *testing.T) {
	e := edit(t, fstest.MapFS{}, Options{})
	e.open(jobFile, sample)
	e.until(jobFile, clean)

	// One letter too many, behind characters that UTF-16 counts twice.
	line, character := 10, len("  model   = model.small")
	e.change(jobFile, 2, contentChange{Range: &textRange{position{line, character}, position{line, character}}, Text: "s # 𝛁"})
	found := e.until(jobFile, has("unknown-reference"))
	want := textRange{position{line, len("  model   = ")}, position{line, character + 1}}
	if len(found) != 1 || found[0].Range != want || found[0].Severity != 1 || found[0].Source != "ndc" {
		t.Errorf("got %+v, want one at %+v", found, want)
	}

	// And back, by two changes of one message, the second behind the surrogates.
	e.change(jobFile, 3,
		contentChange{Range: &textRange{position{line, character + 4}, position{line, character + 6}}, Text: ""},
		contentChange{Range: &textRange{position{line, character}, position{line, character + 4}}, Text: ""})
	e.until(jobFile, clean)

	// What the backends say joins what the language says.
	e.change(jobFile, 4, contentChange{Text: replaced(t, "steps             = 1000", "steps             = 1000\n    seed = 666")})
	if found := e.until(jobFile, has("test-seed")); found[0].Severity != 2 {
		t.Errorf("a warning is told as %+v", found)
	}

	// A file that does not parse, and one that is gone.
	e.change(jobFile, 5, contentChange{Text: replaced(t, `account   = "llm"`, `account   = "llm`)})
	e.until(jobFile, has("syntax-error"))
	e.tell("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}})
	e.until(jobFile, clean)
}

// TestFolders: what is open stands before what is on the disk, a folder is one
// thing, and a module is looked at as it is called.
func TestFolders(t *testing.T) {
	files := fstest.MapFS{
		"w/jobs/job.hcl":       {Data: []byte(strings.Replace(replaced(t, "512", "module.base.batch"), "model \"small\" {", "module \"base\" {\n  source = \"../modules/base\"\n  factor = 2\n}\n\nmodel \"small\" {", 1))},
		"w/modules/base/m.hcl": {Data: []byte("variable \"factor\" {\n  type = number\n}\n\noutput \"batch\" {\n  value = 128 * var.factor\n}\n")},
	}
	e := edit(t, files, Options{})
	module := "/w/modules/base/m.hcl"
	e.open(module, string(files["w/modules/base/m.hcl"].Data))
	e.until(module, clean) // alone its variable would be missing
	e.change(module, 2, contentChange{Text: "variable \"factor\" {\n  type = number\n}\n\noutput \"size\" {\n  value = 128 * var.factor\n}\n"})
	e.until("/w/jobs/job.hcl", has("unknown-reference")) // which nobody opened
	e.change(module, 3, contentChange{Text: string(files["w/modules/base/m.hcl"].Data)})
	e.until("/w/jobs/job.hcl", clean)
}

// TestFilesOfModules: a file that is not saved yet is a part of a module, too, whose folder
// may not be there either.
func TestFilesOfModules(t *testing.T) {
	const name, file = "/w/jobs/job.hcl", "/w/modules/base/new.hcl"
	job := strings.Replace(replaced(t, "512", "module.base.batch"), "model \"small\" {", "module \"base\" {\n  source = \"../modules/base\"\n}\n\nmodel \"small\" {", 1)
	for _, files := range []fstest.MapFS{{"w/modules/base/m.hcl": {Data: []byte("# nothing\n")}}, {}} {
		files["w/jobs/job.hcl"] = &fstest.MapFile{Data: []byte(job)}
		e := edit(t, files, Options{})
		e.open(name, job)
		e.until(name, func(list []diagnostic) bool { return len(list) > 0 })
		e.open(file, "output \"batch\" {\n  value = 512\n}\n")
		e.until(name, clean)
	}
}

// fetching is a program with modules in .ndc of /w/jobs.
type fetching struct{ program }

func (fetching) Folder(address, _, _ string, _ diag.Range) (string, diag.List) {
	return "/w/jobs/.ndc/" + address, nil
}

func (f fetching) Load(fsys fs.FS, name string) (*lang.Workspace, diag.List) {
	return lang.Load(fsys, name, lang.Options{Modules: f})
}

func (fetching) FetchedFor(file string) string {
	folder, _, found := strings.Cut(file, "/.ndc/")
	if !found {
		return ""
	}
	return folder
}

// TestFetched: a file that was fetched is looked at as the jobs call it for which
// it was, and not as jobs of its own.
func TestFetched(t *testing.T) {
	inner := "variable \"factor\" {\n  type = number\n}\n\noutput \"batch\" {\n  value = 128 * var.factor\n}\n"
	files := fstest.MapFS{
		"w/jobs/job.hcl":         {Data: []byte(strings.Replace(replaced(t, "512", "module.base.batch"), "model \"small\" {", "module \"base\" {\n  source = \"git::https://example.org/x.git\"\n  factor = 2\n}\n\nmodel \"small\" {", 1))},
		"w/jobs/.ndc/base/m.hcl": {Data: []byte(inner)},
	}
	const fetched = "/w/jobs/.ndc/base/m.hcl"
	for _, alone := range []bool{false, true} {
		e := edit(t, files, Options{Program: fetching{}, Alone: alone})
		e.open(fetched, inner)
		if found := e.until(fetched, func([]diagnostic) bool { return true }); len(found) > 0 {
			t.Errorf("alone %t: %+v", alone, found)
		}
		if alone {
			continue
		}
		e.change(fetched, 2, contentChange{Text: strings.Replace(inner, "var.factor", "var.fac", 1)})
		e.until(fetched, has("unknown-reference"))
		e.change(fetched, 3, contentChange{Text: inner})
		e.until(fetched, clean)
	}
}

// TestFetchedForCallers: what a module of the workspace calls lies where it was fetched
// for the jobs, and is found from the module.
func TestFetchedForCallers(t *testing.T) {
	const module = "/w/modules/base/m.hcl"
	marked := "module \"inner\" {\n  source = \"git::https://example.org/x.git\"\n}\n\noutput \"batch\" {\n  value = module.inner.si‸ze\n}\n"
	content, p := cursor(t, marked)
	e := edit(t, fstest.MapFS{
		"w/jobs/job.hcl":               {Data: []byte(strings.Replace(replaced(t, "512", "module.base.batch"), "model \"small\" {", "module \"base\" {\n  source = \"../modules/base\"\n}\n\nmodel \"small\" {", 1))},
		"w/modules/base/m.hcl":         {Data: []byte(content)},
		"w/jobs/.ndc/base.inner/i.hcl": {Data: []byte("output \"size\" {\n  value = 512\n}\n")},
	}, Options{Program: fetching{}})
	e.open(module, content)
	e.until(module, clean)
	var found []location
	e.ask("textDocument/definition", at(module, p), &found)
	if len(found) != 1 || found[0].URI != "file:///w/jobs/.ndc/base.inner/i.hcl" {
		t.Errorf("size is defined at %+v", found)
	}
	e.change(module, 2, contentChange{Text: strings.Replace(content, ".size", ".", 1)})
	var list completionList
	e.ask("textDocument/completion", at(module, position{p.Line, p.Character - len("si")}), &list)
	if got := labels(list.Items); !slices.Equal(got, []string{"size"}) {
		t.Errorf("%q is offered", got)
	}
}

// TestLinked: a module is looked at as its callers call it, also where the editor names
// its file and the workspace by different ways to one folder.
func TestLinked(t *testing.T) {
	const inner = "variable \"batch\" {}\n\noutput \"batch\" {\n  value = var.batch\n}\n"
	outer := &fstest.MapFile{Data: []byte(strings.Replace(replaced(t, "512", "module.base.batch"), "model \"small\" {", "module \"base\" {\n  source = \"../base\"\n  batch  = 512\n}\n\nmodel \"small\" {", 1))}
	module := &fstest.MapFile{Data: []byte(inner)}
	e := edit(t, fstest.MapFS{"w/jobs/job.hcl": outer, "w/base/m.hcl": module, "link/jobs/job.hcl": outer, "link/base/m.hcl": module}, Options{})
	for _, name := range []string{"/w/base/m.hcl", "/link/base/m.hcl"} {
		e.open(name, inner)
		if found := e.until(name, func([]diagnostic) bool { return true }); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestAlone: a file that is opened alone does not meet those beside it.
func TestAlone(t *testing.T) {
	files := fstest.MapFS{"w/other.hcl": {Data: []byte(sample)}}
	together := edit(t, files, Options{})
	together.open(jobFile, sample)
	together.until("/w/other.hcl", has("duplicate-block"))
	alone := edit(t, files, Options{Alone: true})
	alone.open(jobFile, sample)
	alone.until(jobFile, clean)
}

// TestFormatting: formatting changes the lines that are not formatted, and no others.
func TestFormatting(t *testing.T) {
	e := edit(t, fstest.MapFS{}, Options{})
	ugly := strings.Replace(sample, "  model   = model.small", "model=model.small # 𝛁", 1)
	e.open(jobFile, ugly)
	var edits []textEdit
	e.ask("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}, "options": map[string]any{"tabSize": 2, "insertSpaces": true}}, &edits)
	if len(edits) != 1 {
		t.Fatalf("one line is ugly, and the edits are %+v", edits)
	}
	got := newText(ugly).changed([]contentChange{{Range: &edits[0].Range, Text: edits[0].NewText}}).content
	if want := strings.Replace(sample, "  model   = model.small", "  model   = model.small # 𝛁", 1); got != want {
		t.Errorf("formatted:\n%s", got)
	}
	e.change(jobFile, 2, contentChange{Text: "job {{{"})
	e.ask("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}}, &edits)
	if len(edits) != 0 {
		t.Errorf("what does not parse is formatted: %+v", edits)
	}
}

// TestSymbols: blocks are listed, those that have no end yet among them.
func TestSymbols(t *testing.T) {
	e := edit(t, fstest.MapFS{}, Options{})
	e.open(jobFile, sample+"job \"unfinished\" {\n  training {\n")
	var list []documentSymbol
	e.ask("textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}}, &list)
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if want := []string{`model "small"`, `cluster "h100"`, `job "demo"`, `job "unfinished"`}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	demo := list[2]
	if demo.SelectionRange != (textRange{position{9, 5}, position{9, 9}}) || demo.Range.End != (position{32, 1}) || demo.Children[0].Detail != "model.small" {
		t.Errorf("job \"demo\" is %+v", demo)
	}
}

// TestActions: a misspelt word is mended by one action.
func TestActions(t *testing.T) {
	for _, c := range []struct{ old, wrong, right string }{
		{"model.small", "model.smal", "model.small"},
		{"catalog.cluster.dgx_h100", "catalog.cluster.dgx_h10", "catalog.cluster.dgx_h100"},
		{"global_batch_size", "gbs", "global_batch_size"},
		{`optimizer "adamw"`, `optimizer "adamv"`, `optimizer "adamw"`},
		{"    steps             = 1000", "    steps             = 1000\n    precision         = \"bf-16\"", "    steps             = 1000\n    precision         = \"bf16\""},
	} {
		e := edit(t, fstest.MapFS{}, Options{})
		content := replaced(t, c.old, c.wrong)
		e.open(jobFile, content)
		found := e.until(jobFile, func(list []diagnostic) bool { return len(list) > 0 })
		var list []codeAction
		e.ask("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}, "range": found[0].Range, "context": map[string]any{"diagnostics": found}}, &list)
		if len(list) == 0 {
			t.Errorf("%s: nothing is offered for %+v", c.wrong, found)
			continue
		}
		made := list[0].Edit.Changes[uriOf(jobFile)][0]
		if got, want := newText(content).changed([]contentChange{{Range: &made.Range, Text: made.NewText}}).content, replaced(t, c.old, c.right); got != want {
			t.Errorf("%s becomes\n%s", c.wrong, got)
		}
	}
}

// TestLens: a prediction is made when it is asked for, ends with the next change,
// and is remembered.
func TestLens(t *testing.T) {
	var asked, ended atomic.Int32
	slow := make(chan struct{})
	e := edit(t, fstest.MapFS{}, Options{Program: program{plan: func(ctx context.Context, j *job.Job) (*plan.Plan, error) {
		asked.Add(1)
		if j.Training.GlobalBatchSize == 1024 {
			close(slow)
			<-ctx.Done()
			ended.Add(1)
			return nil, ctx.Err()
		}
		p := &plan.Plan{Feasible: true}
		p.Time.StepSeconds, p.Memory.Peak.DeviceBytes, p.Memory.UsableBytes, p.Throughput.MFU = 1.5, 40<<30, 80<<30, 0.412
		return p, nil
	}}})
	lensOf := func() []codeLens {
		var list []codeLens
		e.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}}, &list)
		return list
	}
	e.open(jobFile, sample)
	list := lensOf()
	if len(list) != 1 || list[0].Range.Start.Line != 9 || list[0].Command != nil {
		t.Fatalf("got %+v", list)
	}
	for range 2 {
		var resolved codeLens
		e.ask("codeLens/resolve", list[0], &resolved)
		if want := "megatron: 1.50 s per step, 40.0 GiB of 80.0 GiB, MFU 41.2 %"; resolved.Command == nil || resolved.Command.Title != want {
			t.Errorf("got %+v, want %s", resolved.Command, want)
		}
	}
	e.change(jobFile, 2, contentChange{Text: replaced(t, "512", "1024")})
	list = lensOf()
	failed := make(chan error)
	go func() { failed <- e.try("codeLens/resolve", list[0], nil) }()
	<-slow
	e.change(jobFile, 3, contentChange{Text: sample})
	if err := <-failed; err == nil || ended.Load() != 1 {
		t.Errorf("a change leaves the prediction running: %v", err)
	}
	var resolved codeLens
	e.ask("codeLens/resolve", lensOf()[0], &resolved)
	if asked.Load() != 2 {
		t.Errorf("predicted %d times; the first answer was known", asked.Load())
	}
	e.change(jobFile, 4, contentChange{Text: replaced(t, "512", "oops")})
	if list := lensOf(); len(list) != 0 {
		t.Errorf("a job with errors has %+v", list)
	}
}

// TestRefresh: where a prediction depends on another file, the editor is asked to
// ask again.
func TestRefresh(t *testing.T) {
	e := edit(t, fstest.MapFS{}, Options{})
	head, rest, _ := strings.Cut(sample, "job \"demo\"")
	const shared = "/w/shared.hcl"
	e.open(shared, head)
	e.open(jobFile, "job \"demo\""+rest)
	e.until(jobFile, clean)
	for len(e.refreshed) > 0 {
		<-e.refreshed
	}
	e.change(shared, 2, contentChange{Text: head + "\n# said\n"})
	e.until(shared, func([]diagnostic) bool { return true })
	if len(e.refreshed) > 0 {
		t.Error("a comment changes a prediction")
	}
	e.change(shared, 3, contentChange{Text: strings.Replace(head, "nodes = 4", "nodes = 8", 1)})
	select {
	case <-e.refreshed:
	case <-time.After(time.Minute):
		t.Error("the editor keeps the predictions of four nodes")
	}
}

// TestElements: each element of for_each has a lens at the block that makes it.
func TestElements(t *testing.T) {
	e := edit(t, fstest.MapFS{}, Options{Program: program{plan: func(_ context.Context, j *job.Job) (*plan.Plan, error) {
		return &plan.Plan{Infeasible: &plan.Infeasible{Reasons: []plan.Reason{{Summary: "memory"}}}}, nil
	}}})
	e.open(jobFile, replaced(t, `job "demo" {`, "job \"demo\" {\n  for_each = { low = 1, high = 2 }"))
	var list []codeLens
	e.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uriOf(jobFile)}}, &list)
	var titles []string
	for _, l := range list {
		var resolved codeLens
		e.ask("codeLens/resolve", l, &resolved)
		titles = append(titles, resolved.Command.Title)
	}
	want := []string{"demo-high on megatron: does not fit: memory", "demo-low on megatron: does not fit: memory"}
	if slices.Sort(titles); !slices.Equal(titles, want) {
		t.Errorf("got %q", titles)
	}
}

// TestEnd: an editor that is gone ends the server, with an error.
func TestEnd(t *testing.T) {
	r, w := io.Pipe()
	ended := make(chan error)
	go func() { ended <- Serve(r, nopCloser{io.Discard}, Options{Files: absolute{}, Program: program{}}) }()
	w.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrNoShutdown) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the server goes on without an editor")
	}
}

// TestParametersOfNone: requests without parameters may have an empty object of them,
// as clients send that always send one.
func TestParametersOfNone(t *testing.T) {
	h := newServer(Options{Files: absolute{}, Program: program{}}).methods()
	for _, method := range []string{"initialized", "shutdown", "exit"} {
		for _, params := range []string{"", `,"params":null`, `,"params":{}`} {
			r, err := jrpc2.ParseRequests([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"` + params + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h[method](t.Context(), r[0].ToRequest()); err != nil {
				t.Errorf("%s%s: %v", method, params, err)
			}
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
