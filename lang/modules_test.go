package lang

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/budget"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/tools/golden"
)

// TestModules loads the files of each archive and compares what became of them:
// diagnostics, else jobs. Lines of the comment that begin with "load" name what
// is loaded, with options; those with "show" name what is told of each job.
func TestModules(t *testing.T) {
	paths, _ := filepath.Glob("testdata/modules/*.txtar")
	if len(paths) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := loadArchive(t, archive)
			last := len(archive.Files) - 1
			if last < 0 || archive.Files[last].Name != "want" {
				archive.Files = append(archive.Files, txtar.File{Name: "want"})
				last++
			}
			archive.Files[last].Data = []byte(got)
			golden.Compare(t, path, txtar.Format(archive))
		})
	}
}

func loadArchive(t *testing.T, archive *txtar.Archive) string {
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		if f.Name != "want" {
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	var shown, loads []string
	for line := range strings.Lines(string(archive.Comment)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "show "); ok {
			shown = append(shown, strings.Fields(rest)...)
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "load "); ok {
			loads = append(loads, rest)
		}
	}
	var b strings.Builder
	for _, line := range loads {
		if len(loads) > 1 {
			fmt.Fprintf(&b, "load %s\n", line)
		}
		words := strings.Fields(line)
		o := caseOptions(t, "# ARGS: "+strings.Join(words[1:], " "))
		o.Modules = fetched(fsys)
		w, diags := Load(fsys, words[0], o)
		for _, d := range diags {
			fmt.Fprintf(&b, "%s: %s %s: %s\n", d.Range, d.Severity, d.ID, d.Detail)
		}
		if !diags.HasErrors() {
			for i := range w.Jobs {
				tell(&b, &w.Jobs[i], shown)
			}
		}
	}
	return b.String()
}

// tell writes a job, and values of it with where they come from.
func tell(b *strings.Builder, j *job.Job, shown []string) {
	fmt.Fprintf(b, "job %s on %s\n", j.Name, j.Backend.Kind)
	for _, path := range shown {
		if s, ok := j.Sources[path]; ok {
			fmt.Fprintf(b, "  %s = %v (%s %s:%d)\n", path, s.Value, s.Origin, s.Range.Filename, s.Range.Start.Line)
		}
	}
}

// fetched finds modules in the folder fetched of a file system, by the last
// word of their source.
type fetched fstest.MapFS

func (f fetched) Folder(address, source, version string, at diag.Range) (string, diag.List) {
	source, _, _ = strings.Cut(source, "?")
	_, rest, _ := strings.Cut(source, "://")
	folder := "fetched/" + strings.ReplaceAll(rest, "//", "/")
	if _, err := fs.Stat(fstest.MapFS(f), folder); err != nil {
		return "", diag.List{{ID: MissingModule, Range: at, Summary: "Module that was not fetched", Detail: fmt.Sprintf("module %s: no %s %s", address, source, version)}}
	}
	return folder, nil
}

// TestModuleLimits: modules that call one another without end, in great numbers
// or too deep get one message, soon.
func TestModuleLimits(t *testing.T) {
	deep := fstest.MapFS{}
	for i := range budget.MaxDepth + 2 {
		name, src := fmt.Sprintf("m%d/a.hcl", i), fmt.Sprintf("module \"m\" {\n  source = \"../m%d\"\n}\n", i+1)
		if i > 0 {
			name = "all/" + name
		} else {
			src = "module \"m\" {\n  source = \"../all//m1\"\n}\n"
		}
		deep[name] = &fstest.MapFile{Data: []byte(src)}
	}
	var crowd strings.Builder
	for i := range 100 {
		fmt.Fprintf(&crowd, "job \"j%d\" {\n  count = 1000\n}\n", i)
	}
	for name, c := range map[string]struct {
		fsys fstest.MapFS
		load string
		id   diag.ID
	}{
		"itself":   {files("a.hcl", "module \"m\" {\n  source = \".\"\n}\n"), ".", ReferenceCycle},
		"around":   {files("x/a.hcl", "module \"m\" {\n  source = \"../y\"\n}\n", "y/a.hcl", "module \"m\" {\n  source = \".\"\n}\n"), "x", ReferenceCycle},
		"two":      {files("x/a.hcl", "module \"m\" {\n  source = \"../all//y\"\n}\n", "all/y/a.hcl", "module \"m\" {\n  source = \"../z\"\n}\n", "all/z/a.hcl", "module \"m\" {\n  source = \"../y\"\n}\n"), "x", ReferenceCycle},
		"deep":     {deep, "m0", FileTooLarge},
		"many":     {files("a.hcl", "module \"m\" {\n  source = \"./m\"\n  count  = 257\n}\n", "m/a.hcl", "locals {\n  a = 1\n}\n"), ".", FileTooLarge},
		"powers":   {files("a.hcl", "module \"m\" {\n  source = \"./all//b\"\n  count  = 100\n}\n", "all/b/a.hcl", "module \"m\" {\n  source = \"../c\"\n  count  = 100\n}\n", "all/c/a.hcl", "locals {\n  a = 1\n}\n"), ".", FileTooLarge},
		"elements": {files("a.hcl", "module \"m\" {\n  source   = \"./m\"\n  for_each = { for i in range(1001) : \"k${i}\" => i }\n}\n", "m/a.hcl", "locals {\n  a = 1\n}\n"), ".", FileTooLarge},
		"jobs":     {files("a.hcl", crowd.String()), ".", FileTooLarge},
	} {
		_, diags := Load(c.fsys, c.load, Options{})
		found := 0
		for _, d := range diags {
			if d.ID == c.id {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

// TestDeepModules: as many modules inside one another as are allowed.
func TestDeepModules(t *testing.T) {
	fsys := fstest.MapFS{}
	fsys["a.hcl"] = &fstest.MapFile{Data: []byte(minimal("module \"m\" {\n  source = \"./all//m1\"\n}\n", "", "steps = module.m.steps"))}
	for i := 1; i <= budget.MaxDepth; i++ {
		src := "output \"steps\" {\n  value = 7\n}\n"
		if i < budget.MaxDepth {
			src = fmt.Sprintf("module \"m\" {\n  source = \"../m%d\"\n}\noutput \"steps\" {\n  value = module.m.steps\n}\n", i+1)
		}
		fsys[fmt.Sprintf("all/m%d/a.hcl", i)] = &fstest.MapFile{Data: []byte(src)}
	}
	if j := mustLoad(t, fsys, "a.hcl", Options{})[0]; j.Training.Steps != 7 {
		t.Errorf("%d steps", j.Training.Steps)
	}
}

// TestInside: the file system of a module has what lies in its folder.
func TestInside(t *testing.T) {
	fsys, err := confined(files("a/b/c.hcl", "x = 1\n", "a/d.hcl", "x = 2\n"), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(fsys, "a/b/c.hcl"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a/d.hcl", "a", ".", "a/b/../d.hcl", "/a/b/c.hcl", "c.hcl"} {
		if _, err := fs.Stat(fsys, name); err == nil {
			t.Errorf("%s can be read", name)
		}
	}
}

// watched is a file system that notes what is opened.
type watched struct {
	fstest.MapFS
	opened map[string]bool
}

func (w watched) Open(name string) (fs.File, error) {
	w.opened[name] = true
	return w.MapFS.Open(name)
}

func (w watched) Sub(dir string) (fs.FS, error) { return fs.Sub(opener{w}, dir) }

// opener hides everything of a file system but Open.
type opener struct{ fs.FS }

// FuzzModule: whatever a module and one inside of it say, nothing panics, nothing
// outside of the module is read, and a job that is accepted is whole.
func FuzzModule(f *testing.F) {
	inner := "output \"n\" {\n  value = 3\n}\n"
	for _, src := range []string{
		"module \"up\" {\n  source = \"../secret\"\n}\n",
		"module \"up\" {\n  source = \"./x/../../secret\"\n}\n",
		"module \"up\" {\n  source = \"./inner//../../secret\"\n}\n",
		"module \"root\" {\n  source = \"/secret\"\n}\n",
		"module \"self\" {\n  source = \".\"\n}\n",
		"module \"m\" {\n  source = \"./inner\"\n  count = 100000\n}\n",
		"module \"m\" {\n  source   = \"./inner\"\n  for_each = toset(split(\",\", \"a,b\"))\n}\noutput \"n\" {\n  value = module.m[\"a\"].n\n}\n",
		"module \"m\" {\n  source = \"./inner\"\n}\nmodule \"n\" {\n  source = \"./inner\"\n  x = module.m\n}\noutput \"n\" {\n  value = module.n\n}\n",
		"site \"s\" {\n  values = { n = 3 }\n}\njob \"b\" {\n  site = site.s\n  training {\n    steps = here.n\n  }\n}\n",
		"job \"b\" {\n  base = job.b\n}\n",
		"output \"n\" {\n  value = job.j\n}\nlocals {\n  a = local.a\n}\n",
		"variable \"x\" {\n  type = object({ a = optional(number, 2) })\n}\noutput \"n\" {\n  value = var.x.a\n}\n",
	} {
		f.Add(src, inner)
	}
	for _, path := range []string{"testdata/modules/team.txtar", "testdata/modules/mistakes.txtar", "testdata/modules/site.txtar"} {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(string(file.Data), inner)
		}
	}
	root := minimal("module \"m\" {\n  source = \"../module\"\n  x      = {}\n}\njob \"k\" {\n  base = module.m.job.b\n}\n", "", "steps = try(tonumber(module.m.n), 1)")
	f.Fuzz(func(t *testing.T, module, inner string) {
		fsys := watched{files("jobs/job.hcl", root, "module/a.hcl", module, "module/inner/b.hcl", inner, "secret/s.hcl", "locals {\n  a = 1\n}\n"), map[string]bool{}}
		w, diags := Load(fsys, "jobs/job.hcl", Options{})
		for name := range fsys.opened {
			if name != "jobs/job.hcl" && !within(name, "module") {
				t.Errorf("%s was opened", name)
			}
		}
		if diags.HasErrors() {
			return
		}
		for _, j := range w.Jobs {
			if j.Training.Steps < 1 || j.Model.Attention.HeadDim < 1 || j.Cluster.GPUs() < 1 || j.Backend.Version == "" {
				t.Errorf("accepted an incomplete job: %+v", j)
			}
		}
	})
}
