package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/lang"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestBuild takes each job of testdata/build to its plans and files. A case
// is a txtar archive: job.hcl; BACKEND/plan with the decisions of the plan;
// BACKEND/FILE for each file whose whole text is expected, which starts as an
// empty section and is filled by -update.
func TestBuild(t *testing.T) {
	files, err := filepath.Glob("../../testdata/build/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { buildCase(t, file) })
	}
}

func buildCase(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 || archive.Files[0].Name != "job.hcl" {
		t.Fatal("a case starts with job.hcl")
	}
	got := buildAll(t, archive.Files[0].Data)
	plans := 0
	for i := range archive.Files[1:] {
		f := &archive.Files[1+i]
		content, ok := got[f.Name]
		if !ok {
			t.Errorf("%s is expected and not made; there are %q", f.Name, keys(got))
			continue
		}
		if strings.HasSuffix(f.Name, "/plan") {
			plans++
		}
		if *golden.Update {
			f.Data = []byte(content)
		} else if diff := cmp.Diff(string(f.Data), content); diff != "" {
			t.Errorf("%s (-want +got; -update rewrites it):\n%s", f.Name, diff)
		}
	}
	if plans == 0 {
		t.Error("a case expects the plan of at least one backend")
	}
	if *golden.Update {
		golden.Write(t, file, txtar.Format(archive))
	}
}

// buildAll compiles all jobs of a file and returns what an archive can expect,
// by name.
func buildAll(t *testing.T, src []byte) map[string]string {
	t.Helper()
	w, diags := lang.Load(fstest.MapFS{"job.hcl": {Data: src}}, "job.hcl", lang.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	got := map[string]string{}
	for i := range w.Jobs {
		c, diags := compile(&request{job: &w.Jobs[i], policies: judges(w, i)})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if broken := invariants(c.plan); broken != nil {
			t.Errorf("%s: %q", c.job.Backend.Kind, broken)
		}
		got[c.job.Backend.Kind+"/plan"] = string(mustJSON(decisionsOf(c.plan)))
		for _, a := range c.artifacts {
			got[c.job.Backend.Kind+"/"+a.Path] = string(a.Content)
		}
	}
	return got
}

// decisions are the parts of a plan that a better prediction leaves alone: the
// numbers are held to measurements elsewhere.
func decisionsOf(p *plan.Plan) render.Object {
	o := render.Object{
		{Key: "feasible", Value: p.Feasible}, {Key: "layout", Value: file.Layout(p.Layout)}, {Key: "execution", Value: file.Execution(p.Execution)},
		{Key: "mesh_order", Value: p.Mesh.Order}, {Key: "ledger", Value: names(p.Memory.Stages[0].Ledger, func(l plan.LedgerLine) string { return l.ID })},
		{Key: "breakdown", Value: names(p.Time.Breakdown, func(l plan.TimeLine) string { return l.ID })},
		{Key: "communication", Value: names(p.Communication, func(c plan.Communication) string { return fmt.Sprintf("%s %s over %s", c.Group, c.Collective, c.Link) })},
		{Key: "warnings", Value: names(p.Warnings, func(w plan.Warning) string { return w.ID })},
		{Key: "artifacts", Value: names(p.Artifacts, func(a plan.Artifact) string { return a.Path })},
	}
	if p.Infeasible != nil {
		o = append(o, render.Member{Key: "reasons", Value: names(p.Infeasible.Reasons, func(r plan.Reason) string { return r.ID })},
			render.Member{Key: "nearest", Value: len(p.Infeasible.Nearest)},
			render.Member{Key: "fixes", Value: names(p.Infeasible.Fixes, func(f plan.Fix) string { return f.Change })})
	}
	return o
}

// names lists one text of each element, each text once.
func names[E any](list []E, text func(E) string) []string {
	found := []string{}
	for _, e := range list {
		if s := text(e); !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}
