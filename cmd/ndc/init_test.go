package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/output"
)

// TestInitExcluded: a version of a module that is for another ndc is not taken, nor is
// one that calls such a folder of its own. The way out is told with both versions.
func TestInitExcluded(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here, by which repositories are made and served")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	release := func(tag, required string) {
		t.Helper()
		write("team/inner/inner.hcl", "ndc {\n  required_version = \""+required+"\"\n}\n")
		cmd := exec.Command("bash", "-ec", "git init -q -b main; git add -A; git -c user.name=a -c user.email=a commit -q --allow-empty -m x; git tag "+tag)
		cmd.Dir = filepath.Join(dir, "team")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run := func(upgrade bool) diag.List {
		i := &initializer{version: "1.2.0", upgrade: upgrade, fetched: map[string]*fetched{}, asked: map[string]answer{}, tags: map[string][]string{}}
		return i.run(filepath.ToSlash(filepath.Join(dir, "jobs")))
	}
	jobs := "module \"m\" {\n  source  = \"git::file://" + filepath.ToSlash(dir) + "/team//outer\"\n  version = \">= 1\"\n}\n"
	write("jobs/job.hcl", jobs)
	write("team/outer/outer.hcl", "module \"inner\" {\n  source = \"../inner\"\n}\n")
	release("v1.0.0", ">= 1.1")
	if diags := run(false); len(diags) > 0 {
		t.Fatal(diags)
	}
	before, err := os.ReadFile(filepath.Join(dir, "jobs/ndc.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	release("v2.0.0", "~> 1.3")
	diags := run(true)
	if len(diags) != 1 || diags[0].ID != IDFetch || diags[0].Range.Start.Line != 3 {
		t.Fatal(diags)
	}
	for _, want := range []string{`Module "m" as version 2.0.0 (commit `, `) needs ndc ~> 1.3, and this is ndc 1.2.0. ndc.lock.hcl and the files stay at version 1.0.0 (commit `, `take the next version below, 1.0.0: version = ">= 1, < 2.0.0".`} {
		if !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%q lacks %q", diags[0].Detail, want)
		}
	}
	after, _ := os.ReadFile(filepath.Join(dir, "jobs/ndc.lock.hcl"))
	if inner, _ := os.ReadFile(filepath.Join(dir, "jobs/.ndc/modules/m/inner/inner.hcl")); string(after) != string(before) || !strings.Contains(string(inner), ">= 1.1") {
		t.Errorf("%s\n%s", after, inner)
	}
	write("jobs/job.hcl", strings.Replace(jobs, ">= 1", "2.0.0", 1))
	if diags := run(false); len(diags) != 1 || !strings.HasSuffix(diags[0].Detail, "Install one that fits, or call a version of the module that is for this one.") {
		t.Error(diags)
	}
	write("jobs/job.hcl", strings.Replace(jobs, ">= 1", ">= 1, < 2.0.0", 1))
	if diags := run(true); len(diags) > 0 {
		t.Error(diags)
	}
}

// TestInitWaits: while another init puts a module into its place, the folder that it
// moves is not taken for missing.
func TestInitWaits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here, by which repositories are made and served")
	}
	dir := t.TempDir()
	jobs, team := filepath.Join(dir, "jobs"), filepath.Join(dir, "team")
	err := errors.Join(os.Mkdir(jobs, 0o777), os.Mkdir(team, 0o777),
		os.WriteFile(filepath.Join(team, "m.hcl"), nil, 0o666),
		os.WriteFile(filepath.Join(jobs, "job.hcl"), []byte("module \"m\" {\n  source = \"git::file://"+filepath.ToSlash(team)+"?ref=main\"\n}\n"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-ec", "git init -q -b main; git add -A; git -c user.name=a -c user.email=a commit -q -m x")
	cmd.Dir = team
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func() diag.List {
		i := &initializer{version: "1.2.0", fetched: map[string]*fetched{}, asked: map[string]answer{}, tags: map[string][]string{}}
		return i.run(filepath.ToSlash(jobs))
	}
	if diags := run(); len(diags) > 0 {
		t.Fatal(diags)
	}
	if err := os.RemoveAll(team); err != nil { // so that nothing can be fetched again
		t.Fatal(err)
	}
	module := filepath.Join(jobs, ".ndc", "modules", "m")
	var diags diag.List
	var group sync.WaitGroup
	output.Alone(t.Context(), jobs, func() {
		if err := os.Rename(module, module+".away"); err != nil {
			t.Error(err)
		}
		group.Go(func() { diags = run() })
		time.Sleep(200 * time.Millisecond)
		if err := os.Rename(module+".away", module); err != nil {
			t.Error(err)
		}
	})
	if group.Wait(); len(diags) > 0 {
		t.Error(diags)
	}
}

// TestInitAsksOnce: a repository is asked once what it has, however many modules are of it,
// also where it does not answer, which may take minutes.
func TestInitAsksOnce(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git here, by which repositories are made and served")
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("team/a/a.hcl", "output \"a\" {\n  value = 1\n}\n", 0o666)
	cmd := exec.Command("bash", "-ec", "git init -q -b main; git add -A; git -c user.name=a -c user.email=a commit -q -m x; git tag v1.0.0; git tag v1.1.0")
	cmd.Dir = filepath.Join(dir, "team")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write("bin/git-upload-pack", "#!/bin/sh\necho >>'"+dir+"/asked'\nexec '"+git+"' upload-pack \"$@\"\n", 0o777)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for repository, want := range map[string]int{"team": 1 + 2, "nowhere": 1} { // two commands for as many versions
		_ = os.Remove(filepath.Join(dir, "asked"))
		jobs := ""
		for i, version := range []string{"~> 1.0", "1.0.0", "~> 1.0"} {
			jobs += fmt.Sprintf("module \"m%d\" {\n  source  = \"git::file://%s/%s//a\"\n  version = %q\n}\n", i, filepath.ToSlash(dir), repository, version)
		}
		write(repository+"-jobs/job.hcl", jobs, 0o666)
		i := &initializer{version: "1.2.0", fetched: map[string]*fetched{}, asked: map[string]answer{}, tags: map[string][]string{}}
		diags := i.run(filepath.ToSlash(filepath.Join(dir, repository+"-jobs")))
		if wrong := len(diags); repository == "team" && wrong != 0 || repository == "nowhere" && wrong != 3 {
			t.Errorf("%s: %v", repository, diags)
		}
		asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
		if got := len(asked); got != want {
			t.Errorf("%s was asked %d times, not %d", repository, got, want)
		}
	}
}
