package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
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
	"github.com/ndc-dev/ndc/lang/lock"
	"github.com/ndc-dev/ndc/lsp"
	"github.com/ndc-dev/ndc/view"
)

// published is what an editor is told of a file, as far as the tests look.
type published struct {
	URI         string
	Diagnostics []struct {
		Code, Message string
		Range         struct {
			Start struct{ Line int }
		}
	}
}

// editor is a client of this program.
type editor struct {
	testing.TB
	client *jrpc2.Client
	told   chan published
}

// newEditor starts this program for an editor, without a pause.
func newEditor(t testing.TB, alone bool) *editor { return newEditorWith(t, alone, inputFlags{}) }

func newEditorWith(t testing.TB, alone bool, flags inputFlags) *editor {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- lsp.Serve(toServer, fromServer, lsp.Options{Files: disk{}, Program: editing{flags}, Alone: alone})
	}()
	e := &editor{TB: t, told: make(chan published, 100)}
	e.client = jrpc2.NewClient(channel.LSP(toClient, fromClient), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		var p published
		if err := r.UnmarshalParams(&p); err != nil {
			t.Error(err)
		}
		if r.Method() != "textDocument/publishDiagnostics" {
			t.Error(r.ParamString())
		}
		e.told <- p
	}})
	t.Cleanup(func() {
		e.ask("shutdown", nil, nil)
		e.tell("exit", nil)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		e.client.Close()
	})
	e.ask("initialize", map[string]any{"capabilities": map[string]any{}}, nil)
	return e
}

func (e *editor) ask(method string, params, result any) {
	e.Helper()
	var ignored any
	if result == nil {
		result = &ignored
	}
	if err := e.client.CallResult(context.Background(), method, params, result); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) tell(method string, params any) {
	e.Helper()
	if err := e.client.Notify(context.Background(), method, params); err != nil {
		e.Fatalf("%s: %v", method, err)
	}
}

// open opens a file of the disk and returns what is said of it.
func (e *editor) open(name string) (uri string, p published) {
	e.Helper()
	uri = e.show(name)
	return uri, e.next(uri)
}

// show opens a file of the disk.
func (e *editor) show(name string) (uri string) {
	e.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		e.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		e.Fatal(err)
	}
	uri = (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	e.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "hcl", "version": 1, "text": string(src)}})
	return uri
}

// next is what is said of a file next.
func (e *editor) next(uri string) published {
	e.Helper()
	return e.all(uri)[uri]
}

// all is what is said of each of some files next, in any order: the client gives on what it
// receives in goroutines of their own.
func (e *editor) all(uris ...string) map[string]published {
	e.Helper()
	told, late := map[string]published{}, time.After(time.Minute)
	for len(told) < len(uris) {
		select {
		case p := <-e.told:
			if _, known := told[p.URI]; !known && slices.Contains(uris, p.URI) {
				told[p.URI] = p
			}
		case <-late:
			e.Fatalf("of %v only %d are told of", uris, len(told))
		}
	}
	return told
}

// TestEditorsAndValidate: an editor is told what validate tells, for every file
// of wrong jobs and every example.
func TestEditorsAndValidate(t *testing.T) {
	files, err := filepath.Glob("../../testdata/diags/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no wrong jobs", err)
	}
	examples, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	e := newEditor(t, true)
	for _, name := range slices.Concat(files, examples) {
		_, diags := valid(name, &inputFlags{})
		var want, got []string
		for _, d := range diags {
			want = append(want, said(d))
		}
		uri, told := e.open(name)
		e.tell("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
		for _, d := range told.Diagnostics {
			got = append(got, fmt.Sprintf("%d %s %s", d.Range.Start.Line+1, d.Code, d.Message))
		}
		slices.Sort(want)
		slices.Sort(got)
		// Paths in messages are as the files were named.
		here, _ := filepath.Abs(filepath.Dir(name))
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], here, filepath.Dir(name))
		}
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func said(d diag.Diagnostic) string {
	return fmt.Sprintf("%d %s %s: %s", max(d.Range.Start.Line, 1), d.ID, d.Summary, d.Detail)
}

// TestLensIsThePlan: what stands above the jobs of a block is what plan says of
// them, in a folder with modules and sites.
func TestLensIsThePlan(t *testing.T) {
	const folder = "../../testdata/team/jobs"
	plans, _, diags := plansOf(disk{}, folder, &inputFlags{job: "seeds"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var want, got []string
	for _, c := range plans.list {
		want = append(want, fmt.Sprintf("%s on %s at %s: %s per step, %s of %s, MFU %.1f %%", c.job.Name, c.job.Backend.Kind, c.job.Site, view.Duration(c.plan.Time.StepSeconds),
			view.GiB(c.plan.Memory.Peak.DeviceBytes), view.GiB(c.plan.Memory.UsableBytes), 100*c.plan.Throughput.MFU))
	}
	e := newEditor(t, false)
	uri, _ := e.open(folder + "/jobs.hcl")
	var lenses []struct {
		Range   any
		Data    struct{ Key, Name string }
		Command struct{ Title string }
	}
	e.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}, &lenses)
	for _, l := range lenses {
		if strings.HasPrefix(l.Data.Name, "seeds-") {
			e.ask("codeLens/resolve", map[string]any{"range": l.Range, "data": l.Data}, &l)
			got = append(got, l.Command.Title)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestEditorAtASite: jobs that name no site have no errors at the sites and with the
// variables that the editor starts ndc with, and folders without these are as they are.
func TestEditorAtASite(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	tiny, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	other := write("other/job.hcl", string(tiny))
	at := write("jobs/job.hcl", `variable "runs" {}

site "lab" {
  cluster = catalog.cluster.single_gpu
  values  = { checkpoints = "/scratch/${var.runs}" }
}
`+strings.NewReplacer(`  cluster = catalog.cluster.single_gpu
`, "", `"/tmp/tiny"`, `"${here.checkpoints}/tiny"`).Replace(string(tiny)))
	if _, told := newEditor(t, false).open(at); len(told.Diagnostics) == 0 {
		t.Error("a job without a site or a cluster is right")
	}
	e := newEditorWith(t, false, inputFlags{sites: []string{"lab"}, variables: []lang.VariableArg{{Name: "runs", Value: `"x"`}}})
	for _, name := range []string{at, other} {
		if _, told := e.open(name); len(told.Diagnostics) > 0 {
			t.Errorf("%s: %+v", name, told.Diagnostics)
		}
	}
}

// TestEditorBesideMergedLock: a lock that cannot be read, as where a merge left its marks in
// it, is told of, and ends nothing.
func TestEditorBesideMergedLock(t *testing.T) {
	tiny, err := os.ReadFile("../../examples/tiny/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"job.hcl": string(tiny), lock.Name: "<<<<<<< HEAD\n=======\n>>>>>>> change\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	e := newEditor(t, false)
	uri := e.show(filepath.Join(folder, "job.hcl"))
	at := strings.Replace(uri, "job.hcl", lock.Name, 1)
	if told := e.all(uri, at)[at]; len(told.Diagnostics) == 0 {
		t.Error("nothing is said of the lock")
	}
	e.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}, nil)
}

// TestLensIsLocked: a choice that is locked is what is predicted.
func TestLensIsLocked(t *testing.T) {
	src, err := os.ReadFile("../../examples/llama3-8b/job.hcl")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"job.hcl": {Data: src}}
	w, diags := loadFrom(files, "job.hcl", &inputFlags{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	free, err := editing{}.Plan(t.Context(), files, "job.hcl", w, 0)
	if err != nil || len(free.Alternatives) == 0 {
		t.Fatal("nothing else to choose", err)
	}
	j := &w.Jobs[0]
	other := free.Alternatives[len(free.Alternatives)-1]
	f := &lock.File{}
	f.Put(lock.Plan{Job: j.Name, Backend: j.Backend.Kind, SinceVersion: "0.0.1", Inputs: lock.Inputs(j), Choice: plan.Choice{Layout: other.Layout, Execution: other.Execution}})
	files[lock.Name] = &fstest.MapFile{Data: f.Bytes()}
	locked, err := editing{}.Plan(t.Context(), files, "job.hcl", w, 0)
	if err != nil || locked.Locked == nil || view.Layout(&locked.Layout) != view.Layout(&other.Layout) {
		t.Errorf("predicted: %s, locked: %s, %v", view.Layout(&locked.Layout), view.Layout(&other.Layout), err)
	}
}

// BenchmarkEditor measures what one who types waits for: what is wrong after a
// change, and what may stand at a place.
func BenchmarkEditor(b *testing.B) {
	for _, name := range []string{"../../examples/deepseek-v3/job.hcl", "../../testdata/team/jobs/jobs.hcl"} {
		e := newEditor(b, false)
		uri, _ := e.open(name)
		document := map[string]any{"uri": uri, "version": 2}
		start := map[string]any{"line": 0, "character": 0}
		changes := []any{map[string]any{"range": map[string]any{"start": start, "end": start}, "text": "\n"}}
		title := filepath.Base(filepath.Dir(name))
		b.Run("diagnostics/"+title, func(b *testing.B) {
			for b.Loop() {
				document["version"] = document["version"].(int) + 1
				e.tell("textDocument/didChange", map[string]any{"textDocument": document, "contentChanges": changes})
				e.next(uri)
			}
		})
		b.Run("completion/"+title, func(b *testing.B) {
			for b.Loop() {
				e.ask("textDocument/completion", map[string]any{"textDocument": document, "position": start}, nil)
			}
		})
	}
}
