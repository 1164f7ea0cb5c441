package lang

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCalls: the module blocks of a folder or a file, of which nothing is
// evaluated.
func TestCalls(t *testing.T) {
	files := fstest.MapFS{
		"jobs/a.hcl":         {Data: []byte("module \"base\" {\n  source  = \"git::https://example.org/m.git//pretrain\"\n  version = \"~> 2.1\"\n  tokens  = var.unknown\n}\nnonsense {}\n")},
		"jobs/b.hcl":         {Data: []byte("module \"sites\" {\n  source = \"../sites//alps\"\n}\nmodule \"here\" {\n  source = \"./x.tgz\"\n}\n")},
		"jobs/ndc.lock.hcl":  {Data: []byte("module \"locked\" {\n  source = \"x\"\n}\n")},
		"jobs/c.ndctest.hcl": {Data: []byte("module \"test\" {\n  source = \"x\"\n}\n")},
		"jobs/d.hcl":         {Data: []byte("# the same, for who reads this file alone\nmodule \"base\" {\n  source  = \"git::https://example.org/m.git//pretrain\"\n  version = \"~> 2.1\"\n}\n")},
		"two/a.hcl":          {Data: []byte("module \"a\" {\n  source = \"./x.tgz\"\n}\n")},
		"two/b.hcl":          {Data: []byte("module \"a\" {\n  source = \"./y.tgz\"\n}\n")},
		"wrong.hcl":          {Data: []byte("module \"a\" {\n  source = \"x-${var.y}\"\n}\n")},
	}
	got, diags := Calls(files, "jobs")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := []Call{{Name: "base", Source: "git::https://example.org/m.git//pretrain", Version: "~> 2.1"}, {Name: "sites", Source: "../sites//alps"}, {Name: "here", Source: "./x.tgz"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Call{}, "At", "VersionAt")); diff != "" {
		t.Fatal(diff)
	}
	if got[0].IsFolder() || !got[1].IsFolder() || got[2].IsFolder() || got[1].At.Start.Line != 2 || got[0].VersionAt.Start.Line != 3 || got[1].VersionAt != got[1].At {
		t.Errorf("%+v", got)
	}
	if folder, root := got[1].Folder(files, "jobs"); folder != "sites/alps" || root != "sites" {
		t.Errorf("%s in %s", folder, root)
	}
	if got, diags := Calls(files, "jobs/b.hcl"); len(got) != 2 || len(diags) > 0 {
		t.Errorf("%v, %v", got, diags)
	}
	if got, diags := Calls(files, "two"); len(got) != 1 || len(diags) != 1 || diags[0].ID != DuplicateBlock || diags[0].Range.Filename != "two/b.hcl" {
		t.Errorf("%v, %v", got, diags)
	}
	for _, name := range []string{"wrong.hcl", "nowhere"} {
		if got, diags := Calls(files, name); len(got) > 0 || !diags.HasErrors() {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBeside: above a link to a folder is what is above the folder that it leads to, a
// circle of links ends, and the path from a folder is the same with a link and without.
func TestBeside(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)} }
	files := fstest.MapFS{
		"team/jobs/one/job.hcl": {}, "link": link("team/jobs/one"), "a/b/deep": link("../../link"), "whole": link("/mnt/team/jobs"), "circle": link("circle/../circle"),
	}
	for _, c := range [][3]string{
		{"team/jobs/one", "../../modules", "team/modules"}, {"jobs", "./m", "jobs/m"}, {".", "../m", "../m"},
		{"link", "./m", "link/m"}, {"link", "../../modules", "team/modules"}, {"link/sub", "../../two", "team/jobs/two"},
		{"a/b/deep", "../two", "team/jobs/two"}, {"whole", "../modules", "/mnt/team/modules"}, {"a", "../link/../two", "team/jobs/two"},
	} {
		if got := Beside(files, c[0], c[1]); got != c[2] {
			t.Errorf("%s from %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
	for _, c := range [][3]string{ // folder, file, path
		{"team/jobs/one", "team/modules/m.hcl", "../../modules/m.hcl"}, {"team/jobs/one", "team/jobs/one/job.hcl", "job.hcl"}, {".", "../m.hcl", "../m.hcl"}, {".", "m.hcl", "m.hcl"},
		{"../jobs", "../modules/m.hcl", "../modules/m.hcl"}, {"/mnt/team/jobs", "/mnt/team/m.hcl", "../m.hcl"}, {"/mnt/team", "/srv/m.hcl", "../../srv/m.hcl"},
		{"link", "link/job.hcl", "job.hcl"}, {"link", "team/modules/m.hcl", "../../modules/m.hcl"}, {"a/b/deep", "team/modules/m.hcl", "../../modules/m.hcl"},
		{"whole", "/mnt/team/modules/m.hcl", "../modules/m.hcl"}, {"jobs", "/mnt/m.hcl", "/mnt/m.hcl"},
	} {
		if got := PathFrom(files, c[0], c[1]); got != c[2] {
			t.Errorf("%s is %s from %s, want %s", c[1], got, c[0], c[2])
		}
	}
	Beside(files, "circle", "../m") // where it leads, nobody can read
}
