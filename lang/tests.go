package lang

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
	"github.com/ndc-dev/ndc/lang/schema"
)

// testSuffix is how the names of test files end, which lie beside the jobs that
// they test.
const testSuffix = ".ndctest.hcl"

// Tests is what the test files of a folder say.
type Tests struct {
	// Runs holds the run blocks in the order of the files' names and of the blocks
	// in them.
	Runs []TestRun
	// Files holds every file that was read, by name.
	Files map[string][]byte
}

// TestRun is one run block: some jobs of the folder, planned with variables of
// the run's own.
type TestRun struct {
	Name           string
	File           string   // slash path in the file system
	Job, Backend   string   // "": all
	Site           string   // that is planned for; "": the one that the command line or the job names
	ExpectFailures []string // ids of diagnostics and of reasons why nothing fits, and names of policies
	Asserts        int      // how many asserts it has
	Range          diag.Range

	fsys  fs.FS
	block *hclsyntax.Block      // as it was read, which no workspace changes
	asked map[string]diag.Range // where it names the job, the backend and the site
}

// LoadTests reads name, a slash path in fsys: one test file, or a folder with
// all of them.
func LoadTests(fsys fs.FS, name string) (*Tests, diag.List) {
	l := newLoader(fsys, Options{})
	t := &Tests{Files: l.files}
	return t, l.reported(func() { l.loadTests(path.Clean(name), t) })
}

func (l *loader) loadTests(name string, t *Tests) {
	files, ok := l.testFiles(name)
	if !ok {
		return
	}
	for _, file := range files {
		if body := l.parse(l.fsys, file); body != nil {
			l.readRuns(file, body, t)
		}
	}
	if len(t.Runs) == 0 && !l.diags.HasErrors() {
		l.fail(NoTests, diag.Range{}, "There is no run block in %q. Tests stand in files *%s beside the jobs: run \"NAME\" { … }.", name, testSuffix)
	}
}

func (l *loader) testFiles(name string) ([]string, bool) {
	info, err := fs.Stat(l.fsys, name)
	switch {
	case err != nil:
		l.report(unreadable(name, err))
		return nil, false
	case !info.IsDir() && !strings.HasSuffix(name, testSuffix):
		l.fail(NoTests, diag.Range{}, "%q is no test file: its name does not end with %s.", name, testSuffix)
		return nil, false
	case !info.IsDir():
		return []string{name}, true
	}
	entries, err := fs.ReadDir(l.fsys, name)
	if err != nil {
		l.report(unreadable(name, err))
		return nil, false
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), testSuffix) {
			files = append(files, path.Join(name, e.Name()))
		}
	}
	return files, true
}

// readRuns reads what a test file says of its runs beside variables and asserts,
// which belong to the jobs.
func (l *loader) readRuns(file string, body *hclsyntax.Body, t *Tests) {
	for _, a := range ordered(body.Attributes) {
		l.unknownArgument(a, &schema.TestFile)
	}
	spec := schema.TestFile.Block("run")
	seen := map[string]*hclsyntax.Block{}
	for _, b := range body.Blocks {
		if b.Type != spec.Name {
			l.unknownBlock(b, &schema.TestFile)
			continue
		}
		run := TestRun{File: file, fsys: l.fsys, block: b, Range: rangeOf(b.DefRange())}
		head, asserts := headOf(b)
		run.Asserts = len(asserts)
		tree := l.evaluate(head, spec, scope{origin: job.FromSpec, module: newModule(l, &sources{})})
		if tree.broken {
			continue
		}
		run.Name = tree.label
		if first := seen[run.Name]; first != nil {
			l.duplicateRun(b, first)
			continue
		}
		seen[run.Name] = b
		run.Job, run.Backend, run.Site = tree.text("job"), tree.text("backend"), tree.text("site")
		run.asked = map[string]diag.Range{}
		for name, a := range tree.args {
			run.asked[name] = a.source.Range
		}
		run.ExpectFailures = tree.list("expect_failures")
		t.Runs = append(t.Runs, run)
	}
}

// headOf splits a run block into what it says of itself and its asserts.
func headOf(b *hclsyntax.Block) (head *hclsyntax.Block, asserts []*hclsyntax.Block) {
	bare, body := *b, *b.Body
	body.Blocks = nil
	for _, n := range b.Body.Blocks {
		switch n.Type {
		case "assert":
			asserts = append(asserts, n)
		case "variables":
		default:
			body.Blocks = append(body.Blocks, n)
		}
	}
	bare.Body = &body
	return &bare, asserts
}

func (l *loader) duplicateRun(b, first *hclsyntax.Block) {
	l.fail(DuplicateBlock, rangeOf(b.DefRange()), "run %q is already defined at line %d. Names of runs are unique in a file.", b.Labels[0], first.DefRange().Start.Line)
}

// Load reads the jobs of the run's folder as package function Load does, with the
// variables of the run over those of the options. Each run has a workspace of its
// own; runs may be loaded beside one another.
func (r *TestRun) Load(o Options) (*Workspace, diag.List) {
	o.Job, o.Backend, o.run = r.Job, r.Backend, r
	if r.Site != "" {
		o.Sites = []string{r.Site}
	}
	return Load(r.fsys, path.Dir(r.File), o)
}

// askedAt is where a test's run names the job, backend or site that is asked for;
// what the command line asks for has no place.
func (l *loader) askedAt(argument string) diag.Range {
	if l.options.run == nil {
		return diag.Range{}
	}
	return l.options.run.asked[argument]
}

// setFromRun gives variables the values of a test's run, and checks its asserts.
func (m *module) setFromRun(r *TestRun) {
	if _, ok := m.readFile(m.fsys, r.File); !ok {
		m.unread = true
		return
	}
	spec := schema.TestFile.Block("run")
	_, m.asserts = headOf(r.block)
	written := false
	for _, b := range r.block.Body.Blocks {
		switch {
		case b.Type != "variables":
		case written:
			m.fail(DuplicateBlock, rangeOf(b.DefRange()), "A run has one block of variables. Merge the two.")
		default:
			written = true
			m.label(b, spec.Block("variables"))
			m.setVariablesOf(b.Body)
		}
	}
}

func (m *module) setVariablesOf(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		m.fail(UnknownBlock, rangeOf(b.TypeRange), "A block of variables has lines NAME = VALUE and no blocks.")
	}
	for _, a := range ordered(body.Attributes) {
		v := m.variables[a.Name]
		if v == nil {
			m.fail(UndeclaredVariable, rangeOf(a.NameRange), "No file declares a variable %q.%s", a.Name, diag.DidYouMean(a.Name, m.variableOrder))
			continue
		}
		if value, ok := m.constantValue(a.Expr); ok {
			m.assign(v, value, rangeOf(a.Expr.Range()))
		} else {
			v.set = true
		}
	}
}

// checkAsserts reports what is wrong with asserts for every plan.
func (m *module) checkAsserts() {
	for _, b := range m.asserts {
		m.checkCondition(b, schema.TestFile.Block("run").Block("assert"), m.scope())
	}
}

// Assert holds the plan of w.Jobs[i] against the asserts of the run that the
// workspace was loaded for, and reports those that do not hold. Calls for one
// workspace must follow one another.
func (w *Workspace) Assert(i int, o Outcome) diag.List {
	m := w.loader.root
	if len(m.asserts) == 0 {
		return nil
	}
	s := m.scope()
	s.given = o.given(w.loader.planned[i])
	return on(&w.Jobs[i], FailedAssert, m.reported(func() {
		for _, b := range m.asserts {
			t := m.evaluate(b, schema.TestFile.Block("run").Block("assert"), s)
			if ok, message := m.holds(t); !ok && message != "" {
				m.fail(FailedAssert, t.args["condition"].source.Range, "%s", fmt.Sprintf("%s On %s with %s, %s.",
					sentence(message), w.Jobs[i].Name, w.Jobs[i].Backend.Kind, m.readings(b.Body.Attributes["condition"].Expr, s)))
			}
		}
	}))
}
